"""``genesisctl patches show``."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import click

import genesisd
from genesisd.cli import exits
from genesisd.cli.commands import Verb
from genesisd.cli.text import clean
from genesisd.patchtool.cases import cases
from genesisd.patchtool.facts import patch_facts, record_facts
from genesisd.patchtool.tool import Tool


@click.command(
    "show",
    cls=Verb,
    examples="genesisctl patches show P61c\ngenesisctl patches show pn353a --json",
)
@click.argument("patch_id", metavar="ID")
@click.pass_obj
def show(tool: Tool, patch_id: str) -> int:
    """All there is to know about one patch; of an id that is only known, what the register has."""
    told = facts(tool, tool.id_of(patch_id))
    if tool.json:
        tool.answer_json({"patch": told})
    else:
        tool.answer(describe(told))
    return exits.OK


def facts(tool: Tool, name: str) -> dict[str, Any]:
    """What is known of an id, with where each release stands by its case."""
    patch = tool.by_id.get(name)
    if patch is None:
        return {"implemented": False} | record_facts(name, tool.register[name])
    case = cases(tool.checkout).get(name)
    needed_by = [one.id for one in tool.patches if name in {*one.requires, *one.bases()}]
    more = {"tier": tool.tier(patch), "verdicts": case.verdicts if case else None, "needed_by": needed_by}
    return {"implemented": True} | patch_facts(patch, genesisd.__version__) | more


def describe(told: dict[str, Any]) -> str:
    """The facts that say something, one a line; long ones are wrapped."""
    title = told["title"] or "known by name alone"
    lines = [f"{told['id']}: {clean(title)}"]
    if not told["implemented"]:
        lines.append("  known, and not implemented here")
    lines += [line for name, text in _lines(told) for line in _wrapped(name.replace("_", " "), clean(text))]
    return "\n".join(lines) + "\n"


_SAID = {"id", "title", "implemented"}
_PLAIN = {"default_on": "", "source": "lists", "forwarded": "no", "planned": False}
"""Values that go without saying."""


def _lines(told: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in told.items():
        if name in _SAID or value in (None, [], {}, ()) or value == _PLAIN.get(name, object()):
            continue
        if name in _EACH:
            yield from ((name.removesuffix("s"), _EACH[name](one)) for one in value)
        elif isinstance(value, dict):
            yield name, ", ".join(f"{key} {text}" for key, text in value.items() if text)
        else:
            yield name, ", ".join(str(one) for one in value) if isinstance(value, list) else str(value)


def _parameter(one: dict[str, Any]) -> str:
    default = "" if one["default"] is None else f", {one['default']} if it is not set"
    return f"{one['name']}: {one['expected']}{default}"


def _edit(one: dict[str, Any]) -> str:
    scope = f", {one['scope']}" if one.get("scope") else ""
    words = [] if one.get("required", True) else ["optional"]
    words += [f"{one['variants']} forms"] if one.get("variants", 1) > 1 else []
    words += [f"on the text of {one['after']}"] if one.get("after") else []
    return f"{one['id']}: {one['kind']} in {one['path']}{scope}" + (f" ({', '.join(words)})" if words else "")


def _marker(one: dict[str, Any]) -> str:
    return f"{one['text'].strip()!r} in {one['path']}" + (f", {one['scope']}" if one["scope"] else "")


def _proof(one: dict[str, Any]) -> str:
    return f"{one['role']}: {one['counter'] or one['log']!r}"


_EACH = {"parameters": _parameter, "edits": _edit, "markers": _marker, "proofs": _proof}


def _wrapped(name: str, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        108,
        initial_indent=f"  {name:<15} ",
        subsequent_indent=" " * 18,
        break_long_words=False,
        break_on_hyphens=False,
    )
