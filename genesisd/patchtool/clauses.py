"""What the static gate checks: each check tells what is missing, a line a thing, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from genesisd.errors import GenesisError
from genesisd.patches.check_catalog import problems
from genesisd.patches.flags import ENABLE
from genesisd.patches.lifecycle import WITH_EDITS, Lifecycle
from genesisd.patches.model import Patch
from genesisd.patches.register import stem
from genesisd.patches.register_spec import PatchRecord
from genesisd.patchtool import documents
from genesisd.patchtool.blind import blind_spots
from genesisd.patchtool.cases import cases, releases
from genesisd.patchtool.checking import look
from genesisd.patchtool.preflight import Check
from genesisd.patchtool.tool import Tool
from genesisd.patchtool.trees import Tree
from genesisd.pins.trees import fetch_tree, find_tree
from genesisd.versions import parse_version


@dataclass
class Evidence:
    """What the checks look at.

    Attributes:
        tool: catalog, register and clone.
        cache: where trees of releases are kept.
        fetch: whether a tree that is not there may be fetched.
    """

    tool: Tool
    cache: Path
    fetch: bool = False
    _looks: dict[str, tuple[tuple[Check, ...], dict[str, str]]] = field(default_factory=dict)

    @cached_property
    def trees(self) -> tuple[list[Tree], list[str]]:
        """The releases' trees, and what is wrong with those that are not here."""
        found, missing = [], []
        for version, package in releases(self.tool.checkout).items():
            try:
                get = fetch_tree if self.fetch else find_tree
                root = get(package, version, self.cache)
            except GenesisError as error:
                missing.append(error.message)
                continue
            if root is None:
                missing.append(f"the tree of {package} {version} is not in {self.cache}: say --fetch, or --cache DIR")
            else:
                found.append(Tree(root, parse_version(version), version))
        return found, missing

    def look(self, tree: Tree) -> tuple[tuple[Check, ...], dict[str, str]]:
        """The catalog on a tree; several checks ask, and it takes a second."""
        if tree.name not in self._looks:
            self._looks[tree.name] = look(self.tool, tree)
        return self._looks[tree.name]

    @property
    def with_edits(self) -> list[Patch]:
        """The patches that do something."""
        ended = {Lifecycle.RETIRED, Lifecycle.TOMBSTONE}
        return [one for one in self.tool.patches if one.implementation in WITH_EDITS and one.lifecycle not in ended]


def catalog(evidence: Evidence) -> Iterator[str]:
    """Mistakes in the patches as they are written."""
    for one in problems(evidence.tool.patches):
        yield f"{one.patch}: {one.text}" + (f" (edit {one.edit})" if one.edit else "") + f" [{one.kind}]"


def register(evidence: Evidence) -> Iterator[str]:
    """Differences between the catalog and the register."""
    records = evidence.tool.register.records
    for patch in evidence.tool.patches:
        if patch.id not in records:
            yield f"{patch.id}: not in the register"
        else:
            yield from (f"{patch.id}: {told}" for told in _differences(patch, records[patch.id]))
    for name in sorted(name for name, record in records.items() if record.implemented):
        if name not in evidence.tool.by_id:
            yield f"{name}: the register calls it implemented, and the catalog lacks it"


def _differences(patch: Patch, record: PatchRecord) -> Iterator[str]:
    if not record.implemented:
        yield "the register does not call it implemented"
    for word, have, told in (
        ("family", patch.family, record.family),
        ("lifecycle", str(patch.lifecycle), record.lifecycle and str(record.lifecycle)),
    ):
        if have != told:
            yield f"its {word} is {have}, and {told or 'not given'} in the register"
    registered = {stem(flag) for flag in (record.flag, *record.flag_aliases) if flag}
    names = {patch.flag.name, *(alias.name for alias in patch.flag.aliases)} if patch.flag else set()
    for name in sorted(names - registered):
        yield f"its flag {ENABLE[0]}{name} is not in the register"
    for name in sorted(registered - names):
        yield f"{ENABLE[0]}{name} does not switch it, and does by the register"


def behaviour_cases(evidence: Evidence) -> Iterator[str]:
    """Patches that nothing runs, and cases of no patch."""
    told = cases(evidence.tool.checkout)
    for patch in evidence.with_edits:
        if patch.id not in told and not patch.reason:
            yield f"{patch.id}: no case in tests/catalog/cases, and no reason why not"
    for name in sorted(set(told) - set(evidence.tool.by_id)):
        yield f"{name}: a case of no patch"


def anchors(evidence: Evidence) -> Iterator[str]:
    """Where a release does not fit the catalog."""
    trees, missing = evidence.trees
    yield from missing
    for tree in trees:
        checks, apart = evidence.look(tree)
        for one in checks:
            if not one.sound:
                expected = f", not {one.expected}" if one.expected else ""
                yield f"{one.patch} on {tree.name}: {one.verdict}{expected}" + (f": {one.reason}" if one.reason else "")
        yield from (f"{name} on {tree.name}: {detail}" for name, detail in sorted(apart.items()))


def attestation(evidence: Evidence) -> Iterator[str]:
    """Edits of which no process can be asked, where that is not said, or is not allowed."""
    trees, _ = evidence.trees
    told = cases(evidence.tool.checkout)
    seen: dict[tuple[str, str], str] = {}
    for tree in trees:
        seen |= blind_spots(evidence.tool, tree, evidence.look(tree)[0])
    for (patch, name), why in sorted(seen.items()):
        if evidence.tool.by_id[patch].lifecycle is Lifecycle.STABLE:
            yield f"{patch}: {name or 'the module'} cannot be attested ({why}), so it may not be stable"
        if patch in told and name not in told[patch].unattested:
            yield f"{patch}: its case does not list under UNATTESTED that {name or 'the module'} cannot be attested"
    if trees:
        for name, case in sorted(told.items()):
            for spot in sorted(set(case.unattested) - {spot for patch, spot in seen if patch == name}):
                yield f"{name}: its case lists {spot or 'the module'} under UNATTESTED, and it can be attested"


def docs(evidence: Evidence) -> Iterator[str]:
    """Generated pages that are stale."""
    for name, text in sorted(documents.written(evidence.tool).items()):
        path = evidence.tool.checkout / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            yield f"{name} is stale: genesisctl patches docs"
