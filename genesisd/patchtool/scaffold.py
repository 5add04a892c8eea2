"""The files a patch begins with. Pure: texts by path, and what to add to the register."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from genesisd.patches.flags import ENABLE
from genesisd.patches.model import Study

_SERIES = re.compile(r"PN(\d+)")


@dataclass(frozen=True, slots=True)
class Beginning:
    """What is known of a patch before there is one.

    Attributes:
        id: its id.
        family: folder of the catalog.
        title: one line.
        effect: the title in a few words, for names: ``null_parallel_tool_calls``.
        pull: the upstream pull request that it carries over, or None.
        study: of that one; without it the patch stays experimental.
        known_flag: what follows the prefix of a variable that switches it by the register, or "".
    """

    id: str
    family: str
    title: str
    effect: str
    pull: int | None = None
    study: Study | None = None
    known_flag: str = ""

    @property
    def flag(self) -> str:
        """What follows the prefix of its variable."""
        return self.known_flag or f"{self.id}_{self.effect}".upper().replace("-", "_")


def effect_of(title: str) -> str:
    """A few words of a title that a name can have."""
    words = re.findall(r"[a-z0-9]+", title.lower())
    return "_".join([word for word in words if word not in {"a", "an", "the", "of", "to", "in", "by"}][:5])


def next_free(ids: Iterable[str]) -> str:
    """The first id of the series PN above all that were ever given."""
    return f"PN{max((int(found[1]) for one in ids if (found := _SERIES.match(one))), default=0) + 1}"


def files(new: Beginning) -> dict[str, str]:
    """The files, by their path in the clone."""
    stem = new.id.lower().replace("-", "_")
    return {
        f"genesisd/patches/catalog/{new.family}/{stem}_{new.effect}.py": _patch(new),
        f"tests/catalog/cases/{stem}.py": _case(new),
    }


def record(new: Beginning) -> str:
    """The entry of the register, as it is to be written there."""
    lines = [f"  {new.id}:", f"    title: {json.dumps(new.title, ensure_ascii=False)}", f"    family: {new.family}"]
    lines += ["    lifecycle: experimental", "    implemented: true", f"    flag: {ENABLE[0]}{new.flag}"]
    lines += [f"    upstream: [vllm#{new.pull}]"] if new.pull else []
    return "\n".join(lines) + "\n"


def _patch(new: Beginning) -> str:
    origin = "BACKPORT" if new.pull else "ORIGINAL"
    upstream = f"    upstream=({new.pull},),\n" if new.pull else ""
    return f'''"""{new.id}: say here what goes wrong without the patch, for whom, and how they would notice."""

from __future__ import annotations

from genesisd.patches.edits import replacing
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin
from genesisd.patches.model import Patch{", Study" if new.study else ""}

FILE = "vllm/the/file.py"

PATCH = Patch(
    id={_quoted(new.id)},
    title={_quoted(new.title)},
    family={_quoted(new.family)},
    lifecycle=Lifecycle.EXPERIMENTAL,
    origin=Origin.{origin},
    flag=Flag({_quoted(new.flag)}),
{upstream}    edits=(
        replacing(
            "what_it_does",
            FILE,
            "Class.method",
            "        the exact text, which stands once in the method\\n",
            "        what shall stand there\\n",
        ),
    ),
{_study(new.study)})
'''


def _study(study: Study | None) -> str:
    if study is None:
        return ""
    said = "".join(f"        {word}={_quoted(getattr(study, word))},\n" for word in ("upstream", "ours", "tests"))
    return f"    study=Study(\n{said}    ),\n"


def _case(new: Beginning) -> str:
    return f'''"""Say here what is seen, and what of it shows that the patch works."""

ID = {_quoted(new.id)}
STUBS = "none"
VERDICTS = dict.fromkeys(("0.23.0", "0.24.0", "0.30.0", "0.32.0", "0.33.0"), "applied")
RED = {{"seen": "what the release does"}}
GREEN = {{"seen": "what it does with the patch"}}


def observe(version):
    """Runs in the pin's Python, with the tree on its path: the engine is imported here and not above."""
    raise NotImplementedError
'''


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
