"""A patch as plain values: what ``show --json`` answers, and what texts are made of. Pure."""

from __future__ import annotations

from typing import Any

from genesisd.patches.conditions import ALWAYS, AllOf, AnyOf, Condition, Is, Not, Within
from genesisd.patches.edits import AnchorEdit, Edit, NewFile
from genesisd.patches.flags import variables
from genesisd.patches.model import Patch
from genesisd.patches.parameters import Parameter, expected
from genesisd.patches.register_spec import PatchRecord


def patch_facts(patch: Patch, program: str) -> dict[str, Any]:
    """All that the catalog says of ``patch``; ``program`` is our own version, for names that expire."""
    words = ("id", "title", "family", "default_on", "credit", "applied_upstream", "versions", "reason")
    study, retirement = patch.study, patch.retirement
    return {word: getattr(patch, word) or None for word in words} | {
        "lifecycle": str(patch.lifecycle),
        "stable_kind": patch.stable_kind and str(patch.stable_kind),
        "implementation": str(patch.implementation),
        "origin": str(patch.origin),
        "variables": list(variables(patch.flag, program)) if patch.flag else [],
        "forwarded": str(patch.forwarded),
        "upstream": list(patch.upstream),
        "parameters": [parameter_facts(one) for one in patch.parameters],
        "applies_to": condition_text(patch.applies_to),
        **{word: list(getattr(patch, word)) for word in ("requires", "conflicts", "follows", "parts")},
        "stands_on": list(patch.bases()),
        "retirement": retirement and {"because": str(retirement.because), "replaced_by": retirement.replaced_by},
        "edits": [edit_facts(edit) for edit in patch.edits],
        "markers": [{"path": one.path, "scope": one.scope or None, "text": one.text} for one in patch.markers],
        "proofs": [{"role": one.role, "counter": one.counter or None, "log": one.log or None} for one in patch.proofs],
        "study": study and {"upstream": study.upstream, "ours": study.ours, "tests": study.tests},
    }


def record_facts(name: str, record: PatchRecord) -> dict[str, Any]:
    """All that the register says of an id."""
    return {"id": name} | record.model_dump(mode="json")


def parameter_facts(parameter: Parameter) -> dict[str, Any]:
    """A parameter, with what its value has to be in words."""
    return {
        "name": parameter.name,
        "kind": str(parameter.kind),
        "expected": expected(parameter),
        "default": parameter.default,
        "aliases": list(parameter.aliases),
    }


def edit_facts(edit: Edit) -> dict[str, Any]:
    """An edit without its texts, which are in its file."""
    told: dict[str, Any] = {"id": edit.id, "path": edit.path}
    if isinstance(edit, AnchorEdit):
        return told | {
            "kind": str(edit.placement),
            "scope": edit.scope or None,
            "variants": len(edit.variants),
            "required": edit.required,
            "after": edit.after,
        }
    return told | {"kind": "new_file" if isinstance(edit, NewFile) else "replace_file"}


def condition_text(condition: Condition) -> str:
    """A condition in one line; "anything" for one that always holds."""
    match condition:
        case Is():
            values = ", ".join(str(value) for value in condition.values)
            return (
                f"{condition.fact} is {values}"
                if len(condition.values) == 1
                else f"{condition.fact} is one of {values}"
            )
        case Within():
            low = [] if condition.low is None else [f"{condition.fact} >= {condition.low}"]
            high = [] if condition.high is None else [f"{condition.fact} <= {condition.high}"]
            return " and ".join(low + high)
        case Not():
            return f"not ({condition_text(condition.part)})"
        case AllOf():
            return "anything" if condition == ALWAYS else " and ".join(_bracketed(part) for part in condition.parts)
        case AnyOf():
            return " or ".join(_bracketed(part) for part in condition.parts)


def _bracketed(part: Condition) -> str:
    text = condition_text(part)
    return f"({text})" if isinstance(part, (AllOf, AnyOf)) and len(part.parts) > 1 else text
