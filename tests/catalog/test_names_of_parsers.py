"""Names of parsers in what a patch applies to: a misspelt one shuts out, without a word, who needs the patch."""

from __future__ import annotations

import pytest

from genesisd.patches.catalog import catalog
from genesisd.patches.conditions import AllOf, AnyOf, Fact, Is, Not
from tests.catalog.releases import RELEASES

REGISTRIES = {
    Fact.TOOL_CALL_PARSER: "vllm/tool_parsers/__init__.py",
    Fact.REASONING_PARSER: "vllm/reasoning/__init__.py",
}


def named(condition):
    """Each parser that the condition names, with its kind."""
    match condition:
        case Is() if condition.fact in REGISTRIES:
            yield from ((condition.fact, value) for value in condition.values)
        case AllOf() | AnyOf():
            for part in condition.parts:
                yield from named(part)
        case Not():
            yield from named(condition.part)


NAMED = [(patch.id, *one) for patch in catalog() for one in named(patch.applies_to)]


@pytest.mark.parametrize(("patch_id", "fact", "name"), NAMED, ids=str)
def test_a_parser_that_a_patch_names_is_known_to_a_release(tree, patch_id, fact, name):
    """By the very name that ``--tool-call-parser`` or ``--reasoning-parser`` takes."""
    texts = [(tree(version) / REGISTRIES[fact]).read_text(encoding="utf-8") for version in RELEASES]
    assert any(f'"{name}"' in text for text in texts)
