"""A build in a folder, with packages of a few lines in the place of the engine, and children that run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from genesisd.attest import plugin
from genesisd.attest.expected import Expectation, read_expectation
from genesisd.attest.judge import judge
from genesisd.attest.model import Attestation, Process
from genesisd.attest.report import Report, read_report
from genesisd.attest.roles import Wanted

PLUGIN = Path(plugin.__file__)
NOBODY = Wanted(api=0, engine=0)
SHOW = "print(json.dumps({**watch.report(), 'seq': 1, 'at': 0.0}), flush=True)"
OPENING = """
import json, os, sys
import genesisd_attest as plugin
plan = json.load(open(os.path.join(os.path.dirname(plugin.__file__), "genesisd_attest.json")))
watch = plugin.Watch("/nowhere", os.path.dirname(os.path.realpath(plugin.__file__)), plan)
"""


@dataclass
class Build:
    """A pristine tree and a build beside each other, made and prepared by a Python of choice.

    Attributes:
        pristine: path -> text, relative to site-packages.
        patched: path -> text of what differs.
        scopes: by patch, path and scope of what it changed.
    """

    folder: Path
    pristine: Mapping[str, str]
    patched: Mapping[str, str]
    scopes: Mapping[str, Sequence[Sequence[str]]]
    whole: Mapping[str, str] = field(default_factory=dict)
    python: str = sys.executable
    proofs: Mapping[str, Any] = field(default_factory=dict)
    answer: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _lay(self.folder / "pristine", {"vllm/__init__.py": "", **self.pristine})
        _lay(self.root, {"vllm/__init__.py": "", **self.pristine, **self.patched})
        self.answer = json.loads(self._prepare().stdout)
        items = [{name: value for name, value in one.items() if name != "digest"} for one in self.answer["items"]]
        (self.root / "genesisd_attest.py").write_bytes(PLUGIN.read_bytes())
        (self.root / "genesisd_attest.json").write_text(json.dumps({"items": items, "proofs": self.proofs}))

    @property
    def root(self) -> Path:
        return self.folder / "env+0123456789ab"

    @property
    def expected(self) -> Expectation:
        return read_expectation(self.root.name, str(self.root.resolve()), self.answer)

    def names(self, patch: str | None = None) -> set[tuple[str, str]]:
        """Name and kind of each item, of one patch or of all."""
        return {(one["name"], one["kind"]) for one in self.answer["items"] if patch in {None, *one["patches"]}}

    def run(self, script: str, env: Mapping[str, str] | None = None, python: Sequence[str] = ()) -> str:
        """What a child says that runs the build."""
        environment = {**os.environ, "PYTHONPATH": str(self.root), **(env or {})}
        done = subprocess.run(
            [self.python, *python, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def reports(self, *steps: str, python: Sequence[str] = ()) -> list[Report]:
        """A report after each step of one child."""
        script = OPENING + "".join(f"{textwrap.dedent(step)}\n{SHOW}\n" for step in steps)
        return [read_report(line) for line in self.run(script, python=python).splitlines() if line.startswith("{")]

    def judge(self, report: Report, wanted: Wanted = NOBODY) -> Attestation:
        """The judgement on a life of this one process."""
        process = Process(report.pid, report.start_ticks, report.title)
        return judge(self.expected, [report], [process], wanted, report.pid, overdue=True)

    def _prepare(self) -> subprocess.CompletedProcess[str]:
        job = {
            "pristine": str(self.folder / "pristine"),
            "build": str(self.root),
            "files": sorted(self.patched),
            "scopes": self.scopes,
            "whole": self.whole,
        }
        (self.folder / "job.json").write_text(json.dumps(job))
        command = [self.python, "-I", str(PLUGIN), "prepare", str(self.folder / "job.json")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        return done


def _lay(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(textwrap.dedent(text))
