"""What the register and the catalog know of each patch id, in the words of the watch. Implements ``watch.ports.Patches``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import genesisd
from genesisd.patches.catalog import catalog
from genesisd.patches.edits import AnchorEdit, ReplaceFile
from genesisd.patches.lifecycle import StableKind
from genesisd.patches.model import Patch
from genesisd.patches.register import Register, load_register
from genesisd.patches.register_spec import ENDED, PatchRecord
from genesisd.watch.model import PatchFact
from genesisd.watch.refs import UPSTREAM, Ref, parse_ref

CHECKOUT = Path(genesisd.__file__).parents[1]
_CASES = "tests/catalog/cases"
_ID = re.compile(r'^ID = "([^"]+)"$', re.MULTILINE)


class PatchFacts:
    """Every id that was ever named. Read when first asked, and kept: neither file changes under a running program.

    Args:
        register: the ids; None: the project's.
        patches: those that are implemented; None: the catalog.
        checkout: where a clone of the project begins, whose cases prove patches.
    """

    def __init__(
        self, register: Register | None = None, patches: Sequence[Patch] | None = None, checkout: Path = CHECKOUT
    ) -> None:
        self._given = register
        self._patches = patches
        self._checkout = checkout

    @cached_property
    def _register(self) -> Register:
        return self._given or load_register()

    @cached_property
    def _facts(self) -> Mapping[str, PatchFact]:
        patches = {patch.id: patch for patch in (catalog() if self._patches is None else self._patches)}
        cases = _cases(self._checkout)
        records = self._register.records
        told = {name: _fact(name, record, patches.get(name), cases.get(name, "")) for name, record in records.items()}
        unlisted = {name: _fact(name, None, patch, cases.get(name, "")) for name, patch in patches.items()}
        return MappingProxyType(unlisted | told)

    def facts(self) -> Mapping[str, PatchFact]:
        """Every id that was ever named, by its proper spelling."""
        return self._facts

    def find(self, name: str) -> str | None:
        """The id that ``name`` means, in any case of letters or by an alias."""
        return self._register.find(name) or next(
            (one for one in self._facts if one.casefold() == name.casefold()), None
        )

    def text_of(self, patch: str) -> str:
        """Equal as long as what the patch looks for and writes is the same; "" for one that is not implemented."""
        return self._texts.get(patch, "")

    @cached_property
    def _texts(self) -> Mapping[str, str]:
        patches = catalog() if self._patches is None else self._patches
        return {patch.id: hashlib.sha256(repr(patch.edits).encode()).hexdigest() for patch in patches}


def patch_facts() -> Mapping[str, PatchFact]:
    """What this version of the project knows of every id."""
    return PatchFacts().facts()


def _fact(name: str, record: PatchRecord | None, patch: Patch | None, case: str) -> PatchFact:
    ended = (record is not None and record.lifecycle in ENDED) or (patch is not None and patch.lifecycle in ENDED)
    successor = _successor(record, patch)
    return PatchFact(
        id=name,
        title=(patch.title if patch is not None else None) or (record.title if record is not None else None) or "",
        implemented=patch is not None,
        active=patch is not None and not ended and successor is None,
        retired=ended,
        planned=record is not None and record.planned,
        upstream=_upstream(record, patch),
        files=() if patch is None else tuple(dict.fromkeys(edit.path for edit in patch.edits)),
        required=patch is not None and _needs_its_place(patch),
        proven_by=case or _said_to_be_proven(patch),
        superseded_by=successor,
    )


def _successor(record: PatchRecord | None, patch: Patch | None) -> str | None:
    if patch is not None and patch.retirement is not None and patch.retirement.replaced_by is not None:
        return patch.retirement.replaced_by
    return None if record is None else record.superseded_by


def _upstream(record: PatchRecord | None, patch: Patch | None) -> tuple[Ref, ...]:
    carried = () if patch is None else tuple(Ref(UPSTREAM, number) for number in patch.upstream)
    listed = () if record is None else record.upstream
    return tuple(dict.fromkeys((*carried, *(ref for text in listed if (ref := _ref(text)) is not None))))


def _ref(text: str) -> Ref | None:
    """None for a pull request of another project that is named without its owner: nobody could be asked about it."""
    try:
        return parse_ref(text)
    except ValueError:
        return None


def _needs_its_place(patch: Patch) -> bool:
    """Something of it is looked for in upstream's text, and without that the patch is not applied."""
    return any(edit.required if isinstance(edit, AnchorEdit) else isinstance(edit, ReplaceFile) for edit in patch.edits)


def _said_to_be_proven(patch: Patch | None) -> str:
    """Where the project is installed without its tests, the catalog's word is all there is."""
    return "its behaviour test" if patch is not None and patch.stable_kind is StableKind.BEHAVIOUR else ""


def _cases(checkout: Path) -> dict[str, str]:
    """The file of each behaviour case, by the id of the patch that it is about."""
    found: dict[str, str] = {}
    for file in sorted((checkout / _CASES).glob("*.py")):
        if match := _ID.search(file.read_text(encoding="utf-8")):
            found[match[1]] = f"{_CASES}/{file.name}"
    return found
