"""A process of a pin's own Python that runs behaviour cases: the engine is loaded there, never here.

What it runs is the clone's own host of cases (``tests/catalog/server.py``), which the catalog's tests use too, so that
a case means the same wherever it is run. It gets neither the daemon's environment, which may hold secrets, nor a card.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

HOST = Path("tests/catalog/server.py")
SECONDS = 180.0
"""For the start, and for each case: loading the engine takes some ten seconds of an idle core."""


class CaseError(Exception):
    """A case could not be run; the text says why, in one line."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What a case saw, and what it says of what is to be seen: ``red``, ``green`` and ``upstream``, for ``verdicts``."""

    seen: Any
    red: Any
    green: Any
    upstream: Any
    verdicts: Mapping[str, str]


class CaseHost:
    """A context; ``observe`` in it, as often as wanted.

    Args:
        python: of the pin's environment.
        checkout: where the clone begins, whose cases are run.
        scratch: an empty folder for what the engine writes to its home.
        seconds: for each case.
    """

    def __init__(self, python: Path, checkout: Path, scratch: Path, seconds: float = SECONDS) -> None:
        self._argv = [str(python), "-B", str(checkout / HOST)]  # -B: a pin's packages are never written
        self._scratch = scratch
        self._said = scratch / "said"
        self._seconds = seconds
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        """Start it. Raises CaseError."""
        pipe, env = subprocess.PIPE, self._environ()
        try:
            with self._said.open("wb") as said:  # the engine is talkative, and the daemon's log is for people
                self._process = subprocess.Popen(self._argv, stdin=pipe, stdout=pipe, stderr=said, text=True, env=env)
        except OSError as error:
            raise CaseError(f"{self._argv[0]} cannot be started: {error.strerror}") from None
        try:
            self._answer("the host of cases did not come up", SECONDS)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _: TracebackType | None
    ) -> None:
        """End it, with whatever case it still runs."""
        if (process := self._process) is not None:
            process.kill()
            process.communicate()
            self._process = None

    def observe(self, tree: Path, version: str, case: Path) -> Observed:
        """What ``case`` sees in the package below ``tree``. Raises CaseError."""
        process = self._process
        assert process is not None and process.stdin is not None  # noqa: S101, PT018 - within the context
        try:
            process.stdin.write(json.dumps({"path": [str(tree)], "case": str(case), "tree": version}) + "\n")
            process.stdin.flush()
        except OSError:
            raise CaseError("the host of cases ended") from None
        answer = self._answer("the case did not come to an end", self._seconds)
        if "error" in answer:
            raise CaseError((answer["error"].strip().splitlines() or ["it failed"])[-1])
        return Observed(answer["seen"], **answer["expected"])

    def _answer(self, otherwise: str, seconds: float) -> dict[str, Any]:
        process = self._process
        assert process is not None and process.stdout is not None  # noqa: S101, PT018 - within the context
        late = threading.Timer(seconds, process.kill)
        late.start()
        try:
            answer: dict[str, Any] = json.loads(process.stdout.readline())
        except ValueError:
            raise CaseError(f"{otherwise}{self._last_words(seconds)}") from None
        finally:
            late.cancel()
            late.join()
        return answer

    def _last_words(self, seconds: float) -> str:
        said = self._said.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return f": {said[-1]}" if said else f" within {seconds:.0f} s"

    def _environ(self) -> dict[str, str]:
        home = str(self._scratch)
        quiet = {"VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1", "VLLM_LOGGING_LEVEL": "ERROR"}
        return {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": home, "TMPDIR": home, "CUDA_VISIBLE_DEVICES": "", **quiet}  # fmt: skip
