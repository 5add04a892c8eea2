"""Why an incarnation died, from its exit status and its last words. Pure.

The exit status says little (vLLM leaves with 0 when its engine dies) and the last line says less ("See root cause
above"), so the rules look for the root cause in the whole tail, in the order of the table: the first rule that
finds its line wins. A new rule is one entry and one sample line in the test.
"""

from __future__ import annotations

import re
import signal as signals
from collections.abc import Sequence
from dataclasses import dataclass

from genesisd.supervisor.model import ExitRecord

TEXT_LIMIT = 400


@dataclass(frozen=True, slots=True)
class Ending:
    """What is known of a death.

    Attributes:
        code: exit status, or None.
        signal: number of the ending signal, or None.
        tail: last lines of output.
        asked: what was ordered against it (``signal 15``, ``sweep``), or None: nobody asked.
    """

    code: int | None
    signal: int | None
    tail: Sequence[str] = ()
    asked: str | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A cause, the lines that betray it, and the sentence for people (the groups of the match filled in)."""

    cause: str
    pattern: str
    text: str
    permanent: bool = False
    code: int | None = None
    """Only with this exit status."""
    starting: bool = False
    """Only while it had not begun to serve: the same words in a later log mean something else."""


RULES = (
    Rule("bad-config", r"error: (unrecognized arguments: .+)", "the command line was refused: {0}", True, 2),
    Rule("bad-config", r"error: (argument .+)", "the command line was refused: {0}", True, 2),
    Rule("bad-config", r"error: (.+)", "the command line was refused: {0}", True, 2),
    Rule("bad-config", r"KeyError: ['\"](invalid (?:tool call|reasoning) parser: [^\s'\"]+)", "{0}", True),
    Rule("bad-config", r"(invalid (?:tool call|reasoning) parser: [^\s'\"]+)", "{0}", True, starting=True),
    # Not permanent: the next try meets the port's gate, which waits for a port that is given and passes over others.
    Rule("port-taken", r"\[Errno 98\] (Address already in use.*)", "its port is taken: {0}", starting=True),
    Rule(
        "kv-too-large",
        r"(Available memory on node .* less than requested memory for kv.*)",
        "the KV cache does not fit into memory: {0}",
        True,
        starting=True,
    ),
    Rule(
        "kv-too-large",
        r"(Free memory on device .* is less than desired GPU memory utilization.*)",
        "the wanted share of the card is not free: {0}",
        starting=True,
    ),
    Rule(
        "kv-too-small",
        r"(No available memory for the cache blocks.*)",
        "no memory is left for the KV cache: {0}",
        True,
        starting=True,
    ),
    Rule(
        "kv-too-small",
        r"(To serve at least one request with .* KV cache is needed.*)",
        "the KV cache is too small for one request: {0}",
        True,
        starting=True,
    ),
    Rule("bad-weights", r"(SafetensorError: .+)", "a weight file cannot be read: {0}", True, starting=True),
    Rule(
        "bad-weights", r"(Cannot find any model weights with .+)", "the weights are missing: {0}", True, starting=True
    ),
    Rule("bad-model", r"(HFValidationError: .+)", "the model was not found: {0}", True, starting=True),
    Rule("bad-model", r"(LocalEntryNotFoundError: .+)", "the model was not found: {0}", True, starting=True),
    Rule("bad-model", r"(RepositoryNotFoundError: .+)", "the model was not found: {0}", True, starting=True),
    Rule("bad-model", r"(Model architectures .*? are not supported[^.]*)", "{0}", True, starting=True),
    Rule("cuda-oom", r"(CUDA out of memory\..*|CUDA error: out of memory.*)", "the card ran out of memory: {0}"),
    Rule("cuda-error", r"(CUDA error: .+)", "the card failed: {0}"),
    Rule("host-oom", r"(DefaultCPUAllocator: can't allocate memory.*)", "the machine ran out of memory: {0}"),
    Rule("host-oom", r"(MemoryError.*|Cannot allocate memory.*)", "the machine ran out of memory: {0}"),
    Rule(
        "bad-environment",
        r"^(?:\([^)]*\) )?((?:ModuleNotFoundError|ImportError): .+)",
        "its environment lacks something: {0}",
        True,
        starting=True,
    ),
    Rule("bad-config", r"^\s*(?:\([^)]*\) )?Value error, (.+)", "a setting was refused: {0}", True, starting=True),
    Rule("engine-dead", r"(EngineDeadError.*|engine core exited unexpectedly.*)", "its engine died: {0}"),
)
ROOT_CAUSE = re.compile(
    r"^(?:\([^)]*\) )?(?!RuntimeError: Engine core initialization failed)(?:\w+\.)*\w+(?:Error|Exception): .+"
)
"""The last line of a traceback, which stands above the one that only says where to look."""
SERVING = re.compile(r"Application startup complete")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def classify(ending: Ending) -> ExitRecord:
    """The cause of a death, a sentence about it, and whether trying again is pointless."""
    if ending.asked is not None:
        return _record(ending, "stopped", f"{how(ending)} after it was asked to stop ({ending.asked})")
    tail = [_COLOUR.sub("", line) for line in ending.tail]
    starting = not any(SERVING.search(line) for line in tail)
    for rule in RULES:
        if (rule.code in (None, ending.code)) and (starting or not rule.starting):
            for line in tail:
                if found := re.search(rule.pattern, line):
                    text = f"{rule.text.format(*found.groups())} ({how(ending)})"
                    return _record(ending, rule.cause, text, permanent=rule.permanent)
    return _plain(ending, tail)


def how(ending: Ending) -> str:
    """The bare facts of an exit in words."""
    if ending.signal is not None:
        return f"killed by {signal_name(ending.signal)}"
    if ending.code is None:
        return "ended; its exit status is not known"
    return f"exit status {ending.code}"


def signal_name(number: int) -> str:
    """SIGKILL for 9."""
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _plain(ending: Ending, tail: Sequence[str]) -> ExitRecord:
    words = _last_words(tail)
    if ending.signal == signals.SIGKILL:
        return _record(ending, "killed", "killed by SIGKILL, which the daemon did not send (the kernel's OOM killer?)")
    if ending.code == 0:
        return _record(ending, "crash", f"ended with exit status 0 without being asked to{words}")
    if ending.code is None and ending.signal is None:
        return _record(ending, "unknown", f"ended while nobody watched; its exit status is not known{words}")
    return _record(ending, "crash", f"{how(ending)}{words}")


def _last_words(tail: Sequence[str]) -> str:
    """The newest root cause, or else the last line."""
    lines = [line.strip() for line in tail if line.strip()]
    if cause := next((line for line in reversed(lines) if ROOT_CAUSE.search(line)), None):
        return f": {cause}"
    return f"; its last line: {lines[-1]}" if lines else ""


def _record(ending: Ending, cause: str, text: str, *, permanent: bool = False) -> ExitRecord:
    short = text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 3] + "..."
    return ExitRecord(code=ending.code, signal=ending.signal, cause=cause, text=short, permanent=permanent)
