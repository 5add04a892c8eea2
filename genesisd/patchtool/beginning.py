"""``genesisctl patches new``: begin a patch."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import get_args

import click
from pydantic import TypeAdapter, ValidationError

from genesisd.cli import exits
from genesisd.cli.commands import Verb
from genesisd.cli.session import usage
from genesisd.errors import ConflictError
from genesisd.patches.lifecycle import Lifecycle
from genesisd.patches.model import Study
from genesisd.patches.register import stem
from genesisd.patches.register_spec import Family, PatchId
from genesisd.patchtool.scaffold import Beginning, effect_of, files, next_free, record
from genesisd.patchtool.tool import Tool

_ASKED = {
    "upstream": "What does upstream do?",
    "ours": "What does ours do better, or why not?",
    "tests": "Which of upstream's tests came along?",
}


@click.command(
    "new",
    cls=Verb,
    examples="""
    genesisctl patches new PN530 --family serving --title "Answer an empty stop list as none"
    genesisctl patches new PN531 --family scheduler --title "Count a stall once" --from-pr 47382
    """,
)
@click.argument("patch_id", metavar="ID", required=False)
@click.option(
    "--family", required=True, type=click.Choice(get_args(Family)), metavar="NAME", help="Folder of the catalog."
)
@click.option("--title", required=True, help="What it does, in a line of at most 80 characters.")
@click.option("--effect", metavar="WORDS", help="The title in a few words for names, such as null_stop_list.")
@click.option(
    "--from-pr", "pull", type=click.IntRange(1), metavar="N", help="The upstream pull request that it carries over."
)
@click.option("--study-upstream", metavar="TEXT", help=_ASKED["upstream"])
@click.option("--study-ours", metavar="TEXT", help=_ASKED["ours"])
@click.option("--study-tests", metavar="TEXT", help=_ASKED["tests"])
@click.pass_obj
def new(
    tool: Tool,
    patch_id: str | None,
    family: str,
    title: str,
    effect: str | None,
    pull: int | None,
    study_upstream: str | None,
    study_ours: str | None,
    study_tests: str | None,
) -> int:
    """Write the file of a patch and its case into this clone, and say what else to do.

    With --from-pr it asks what was learned of upstream's own attempt; without an answer a backport stays
    experimental.
    """
    tool.in_checkout("genesisd/patches/catalog")
    name = _free(tool, patch_id)
    if len(title) > 80:
        raise usage(f"the title has {len(title)} characters", "80 at most: it is a column of tables")
    study = _study(pull, {"upstream": study_upstream, "ours": study_ours, "tests": study_tests})
    begun = Beginning(name, family, title, effect or effect_of(title), pull, study, _flag(tool, name))
    texts = files(begun)
    _write(tool.checkout, family, texts)
    if tool.json:
        tool.answer_json({"id": name, "files": sorted(texts), "register": record(begun), "study": study is not None})
        return exits.OK
    for path in texts:
        tool.answer(path)
    tool.note("add to genesisd/patches/register.yaml, in the order of ids:")
    for line in record(begun).splitlines():
        tool.note(line)
    if pull and study is None:
        tool.note("without a study note it has to stay experimental")
    tool.note("then: write edits and case, make test, genesisctl patches docs")
    return exits.OK


def _free(tool: Tool, wanted: str | None) -> str:
    """The id, if nobody has it.

    Raises:
        ControlError: none was said, or one of a shape that ids do not have.
        ConflictError: it is implemented, or burned.
    """
    offer = next_free((*tool.by_id, *tool.register.records))
    if wanted is None:
        raise usage("which id?", f"the next free one is {offer}")
    found = tool.register.find(wanted) or next((one for one in tool.by_id if one.casefold() == wanted.casefold()), None)
    if found is None:
        _shaped(wanted, offer)
        return wanted
    burned = found not in tool.by_id and tool.register[found].lifecycle is Lifecycle.TOMBSTONE
    if found in tool.by_id or burned:
        told = f"{found} is burned" if burned else f"{found} is implemented"
        raise ConflictError(f"{told}, and no id is used twice", hint=f"the next free one is {offer}", patch=found)
    return found


def _flag(tool: Tool, name: str) -> str:
    """What switches it by the register, which people have in their environments; nothing where there is no such flag."""
    record = tool.register.records.get(name)
    return stem(record.flag) if record and record.flag else ""


def _shaped(wanted: str, offer: str) -> None:
    """Raises ControlError for what the register would not take, and for a hyphen before a number: it never was in use."""
    try:
        TypeAdapter(PatchId).validate_python(wanted)
        fine = re.fullmatch(r"[A-Z]+-\d+", wanted) is None
    except ValidationError:
        fine = False
    if not fine:
        raise usage(f"{wanted!r} is not shaped as an id", f"write it as {offer}; docs/patch-ids.md has the series")


def _study(pull: int | None, said: dict[str, str | None]) -> Study | None:
    """The note on upstream's attempt: from the options, or asked for on a terminal."""
    if pull is None:
        return None
    if sys.stdin.isatty():
        said = {word: text or click.prompt(_ASKED[word], default="", show_default=False) for word, text in said.items()}
    given = {word: text for word, text in said.items() if text}
    if given and len(given) < len(said):
        lacking = ", ".join(f"--study-{word}" for word in said if word not in given)
        raise usage("half a study note", f"say {lacking} as well")
    return Study(given["upstream"], given["ours"], given["tests"]) if given else None


def _write(checkout: Path, family: str, texts: dict[str, str]) -> None:
    taken = next((path for path in texts if (checkout / path).exists()), None)
    if taken is not None:
        raise ConflictError(f"{taken} is there already", hint="remove it, or say another --effect")
    for path, text in texts.items():
        (checkout / path).parent.mkdir(parents=True, exist_ok=True)
        (checkout / path).write_text(text, encoding="utf-8")
    package = checkout / "genesisd/patches/catalog" / family / "__init__.py"
    if not package.exists():
        package.write_text(f'"""Patches of {family.replace("_", " ")}."""\n', encoding="utf-8")
