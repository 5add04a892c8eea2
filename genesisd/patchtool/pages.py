"""docs/PATCHES.md and docs/RELEASE_POLICY.md, made of the catalog, the register and the cases. Pure: no clock, no place.

Everything is in one order, so that the same catalog gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from genesisd.patches.lifecycle import Lifecycle
from genesisd.patches.model import Patch
from genesisd.patches.parameters import Parameter, expected
from genesisd.patches.register_spec import PatchRecord
from genesisd.patchtool.cases import Told
from genesisd.patchtool.entries import Entry, entries, variable
from genesisd.patchtool.facts import condition_text
from genesisd.patchtool.gates import GATES

_UPSTREAM = "https://github.com/vllm-project/vllm/pull"
_HEAD = """# Patches

Written by `genesisctl patches docs` from the catalog, the register and the cases: do not edit. How to work with
patches is in [patches.md](patches.md), how ids work in [patch-ids.md](patch-ids.md), and what a release needs in
[RELEASE_POLICY.md](RELEASE_POLICY.md).

The catalog implements {implemented} patches; {known} more ids are known, and stand in the second table of their family.

A column with a release says what becomes of the patch on its tree: **applied**; **upstream**, which has its own fix;
**absent**, since there is no such code; **range**, where the patch is declared not to be for it. These are
the verdicts that the behaviour case of the patch tells, and that the tests hold it to.
"""
_WORDS = {"applied": "applied", "superseded": "upstream", "target_missing": "absent", "version": "range"}


def patches_page(by_id: Mapping[str, Patch], records: Mapping[str, PatchRecord], cases: Mapping[str, Told]) -> str:
    """docs/PATCHES.md."""
    everything = entries(by_id, records)
    known = len(everything) - len(by_id)
    parts = [_HEAD.format(implemented=len(by_id), known=known)]
    releases = sorted({release for told in cases.values() for release in told.verdicts})
    for family in sorted({one.family for one in everything}, key=lambda name: (name == "", name)):
        parts += _family(family, [one for one in everything if one.family == family], releases, cases)
    return "\n".join(parts)


def _family(name: str, members: Sequence[Entry], releases: Sequence[str], cases: Mapping[str, Told]) -> list[str]:
    implemented = [(one.patch, cases.get(one.id)) for one in members if one.patch is not None]
    known = [one for one in members if one.patch is None]
    parts = [f"## {_title(name)}\n"]
    if implemented:
        head = ("ID", "What it does", "Lifecycle", "Proven by", "Flag", "Parameters", "Upstream", "Credit", "Versions")
        rows = [_row(patch, told, releases) for patch, told in implemented]
        parts.append(_table((*head, *releases, "Not attested"), rows))
        notes = [note for patch, told in implemented for note in _notes(patch, told)]
        parts += ["\n".join(notes) + "\n"] if notes else []
    if known:
        parts.append("Known, and not implemented here:\n")
        parts.append(_table(("ID", "What it is for", "Lifecycle", "Flag", "Upstream", "Credit"), map(_known, known)))
    return parts


_NAMES = {"gdn": "GDN", "kv": "KV", "lora": "LoRA", "moe": "MoE", "turboquant": "TurboQuant"}


def _title(family: str) -> str:
    words = " ".join(_NAMES.get(word, word) for word in family.split("_"))
    return words[:1].upper() + words[1:] or "Without a family"


def _row(patch: Patch, told: Told | None, releases: Sequence[str]) -> list[str]:
    verdicts = [_WORDS.get(told.verdicts.get(one, ""), told.verdicts.get(one, "")) if told else "" for one in releases]
    return [
        f"`{patch.id}`",
        patch.title,
        str(patch.lifecycle),
        str(patch.stable_kind or ""),
        _code(variable(patch)),
        ", ".join(_code(one.name) for one in patch.parameters),
        ", ".join(f"[#{number}]({_UPSTREAM}/{number})" for number in patch.upstream),
        patch.credit,
        _code(patch.versions) or "all",
        *verdicts,
        ", ".join(_code(one or "module") for one in told.unattested) if told else "",
    ]


def _notes(patch: Patch, told: Told | None) -> Iterator[str]:
    """What a table has no room for, an item a patch."""
    said = [f"{title} {text}" for title, text in _sentences(patch)]
    said += [_parameter(one) for one in patch.parameters]
    said += [f"Not attested: {_code(name or 'module')}, since {why}." for name, why in _pairs(told)]
    said += [f"Without a case: {patch.reason}."] if told is None and patch.reason else []
    if said:
        yield f"- `{patch.id}`: " + " ".join(said)


def _pairs(told: Told | None) -> Sequence[tuple[str, str]]:
    return sorted(told.unattested.items()) if told else ()


def _sentences(patch: Patch) -> Iterator[tuple[str, str]]:
    if condition_text(patch.applies_to) != "anything":
        yield "Applies where", f"{condition_text(patch.applies_to)}."
    for title, names in (
        ("Requires", patch.requires),
        ("Stands on", patch.bases()),
        ("Conflicts with", patch.conflicts),
        ("Follows", patch.follows),
        ("Switches", patch.parts),
    ):
        if names:
            yield title, ", ".join(map(_code, names)) + "."
    if patch.default_on:
        yield "On by default:", f"{patch.default_on}."
    if patch.lifecycle is Lifecycle.RETIRED and patch.retirement:
        instead = f", replaced by `{patch.retirement.replaced_by}`" if patch.retirement.replaced_by else ""
        yield "Retired:", f"{patch.retirement.because}{instead}."


def _parameter(one: Parameter) -> str:
    default = "" if one.default is None else f", {one.default} if it is not set"
    return f"`{one.name}` takes {expected(one)}{default}."


def _known(one: Entry) -> list[str]:
    record = one.record or PatchRecord()
    ended = f" ({record.because})" if record.because else ""
    instead = f", see `{record.superseded_by}`" if record.superseded_by else ""
    upstream = ", ".join(record.upstream)
    return [f"`{one.id}`", one.title, one.lifecycle + ended + instead, _code(one.flag), upstream, record.credit or ""]


def policy_page() -> str:
    """docs/RELEASE_POLICY.md."""
    parts = [_POLICY]
    for mode, clauses in GATES.items():
        parts.append(f"## {mode}\n")
        rows = [[f"`{clause.name}`", clause.text, clause.why] for clause in clauses]
        parts.append(_table(("Check", "What must hold", "What went wrong without it, or would"), rows))
    return "\n".join(parts)


_POLICY = """# Release policy

Written by `genesisctl patches docs`: do not edit.

A catalog is released when its gate is open. There are three, each of which includes those before it:

```
genesisctl patches proof                          # require-static
genesisctl patches proof --mode require-bench
genesisctl patches proof --mode require-baseline
```

The command fails with the list of all that is missing. A release of this project needs the first; who deploys it on
cards of his own has the other two to tighten with: they need what was measured there.
"""


def _table(head: Sequence[str], rows: Iterator[list[str]] | Sequence[list[str]] | map[list[str]]) -> str:
    lines = [list(head), ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(_cell(text) for text in line) + " |\n" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _code(text: str) -> str:
    return f"`{text}`" if text else ""
