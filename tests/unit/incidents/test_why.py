"""Why a worker is as it is: one paragraph that reads right. ``python -m tests.unit.incidents.test_why`` writes them anew."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genesisd.cli.main import root
from genesisd.incidents import causes, record
from genesisd.incidents.advice import BY_CAUSE
from genesisd.incidents.facts import WorkerFacts
from genesisd.incidents.model import CAUSES, Happening, Incident
from genesisd.incidents.reading import from_event
from genesisd.incidents.why import PHASES, why
from genesisd.supervisor.model import Phase

GOLDEN = Path(__file__).parents[2] / "data" / "why"
NOW = 1_796_000_000.0
EVIDENCE = "/var/lib/genesisd/workers/llm/evidence/1795999400-7-hung"
COMMAND = re.compile(r"genesisctl ((?:[a-z-]+ ?)+)")


def told(ago: float, kind: str, **fields: object):
    reading = from_event(kind, fields, NOW - ago)
    assert reading is not None
    return reading


def incident(*readings, number: int = 12, build: str | None = "b3f1c9", **changes) -> Incident:
    first, *rest = readings
    found = replace(record.opened("llm", 7, first, build), id=number)
    for one in rest:
        found = record.closed(found, one) if one.ends else record.followed(found, one)
    return replace(found, **changes)


def facts(phase: str, code: str = "", reason: str = "", ago: float = 600.0, **more) -> WorkerFacts:
    return WorkerFacts("llm", phase, code, reason, NOW - ago, **more)


def restarted(ago: float, cause: str):
    return told(ago, "worker_restart", cause=cause)


OOM = (
    "the kernel killed VLLM::EngineCor (pid 5592) for want of memory: Memory cgroup out of memory: Killed process 5592 (VLLM::EngineCor)"
    " total-vm:24323776kB, anon-rss:18068096kB, file-rss:6776kB, shmem-rss:0kB, UID:998"
)
KV = (
    "no memory is left for the KV cache: No available memory for the cache blocks. Try increasing"
    " `gpu_memory_utilization` when initializing the engine. (exit status 1)"
)
GOLDEN_BAD = 'golden is bad: case \'capitals\' gave "!!!!!!!!", expected "Paris is the capital of France"'
STREAM = (
    "tool-calls is bad: case 'weather' streamed no call to get_weather (finish_reason stop); the same request without a"
    " stream gave the right call"
)
HELD_VRAM = "GPU 0 has 2.1 of 24.0 GiB free, and 90% is asked for; held by pid 4711 (VLLM::Worker, 21.5 GiB)"
STUCK = "some of its processes cannot be killed (stuck in the kernel); the card may need a reset or the box a reboot"
BUDGET = "gave up after 5 restarts in 600 s; the last: its engine died: EngineDeadError (exit status 0)"

SCENES = {
    "host-oom": (
        facts("starting", "starting", "waiting for it to answer", 20, build="b3f1c9"),
        incident(
            told(40, "worker_exited", cause="host-oom", text=OOM, signal=9),
            told(39, "evidence_saved", path=EVIDENCE),
            restarted(38, "host-oom"),
        ),
    ),
    "hung-engine": (
        facts("stopping", "hung", "4 requests run and no token came for 15 s, while /health says 200", 2, build="b3f1c9"),
        incident(
            told(2, "liveness_failed", summary="4 requests run and no token came for 15 s, while /health says 200"),
            told(1, "evidence_saved", path=EVIDENCE),
        ),
    ),
    "garbage-cured-by-rollback": (
        facts("ready", "ready", "serving", 900, build="a77e02", instead_of="b3f1c9"),
        incident(
            told(1500, "judge_told", step="restart", kinds=["golden", "degeneration"], text=GOLDEN_BAD),
            told(1499, "judge_restart", text="restarting it, since " + GOLDEN_BAD),
            restarted(1480, "wrong-output"),
            told(1300, "judge_rollback", text="going back to the last build that was good, since golden is bad after a restart"),
            told(600, "judge_cured", text="every probe is good with the last build that was good since 10 min"),
        ),
    ),
    "bad-patch-quarantined": (
        facts("ready", "ready", "serving", 300, build="c09d11", patches=("PN88",)),
        incident(
            told(4000, "judge_told", step="quarantine", kinds=["golden"], text=GOLDEN_BAD),
            told(3990, "judge_bisect", kinds=["golden"], text="looking for the patch that is to blame, since golden is bad after a restart"),
            told(400, "bisection_ended", guilty=["PN88"], text="PN88 makes the pin fail; the rest passes (7 runs)"),
            told(399, "patch_quarantined", patch="PN88", pin="cpu-0.32.0", text="PN88 is left out of llm"),
        ),
    ),
    "golden-fails-on-plain-pin": (
        facts("failed", "wrong-output", "the plain pin answers wrong too, so no patch is to blame", 100),
        incident(
            told(4000, "judge_told", step="quarantine", kinds=["golden"], text=GOLDEN_BAD),
            told(400, "bisection_ended", guilty=[], text="the plain pin fails without any patch that could be left out (2 runs)"),
            told(100, "judge_hold", text="the plain pin answers wrong too, so no patch is to blame"),
            build=None,
        ),
    ),
    "kv-too-small": (
        facts("failed", "kv-too-small", KV, 30, build="b3f1c9"),
        incident(told(31, "worker_exited", cause="kv-too-small", text=KV, code=1), told(30, "worker_phase", phase="failed", reason_code="kv-too-small", reason=KV)),
    ),
    "port-taken": (
        facts("blocked", "port-taken", "127.0.0.1:8000 is taken by another process; it starts when the port is free", 95),
        incident(told(95, "gate_shut", code="port-taken", text="127.0.0.1:8000 is taken by another process; it starts when the port is free")),
    ),
    "orphaned-vram": (
        facts("blocked", "vram-held", HELD_VRAM, 150, build="b3f1c9"),
        incident(told(150, "gate_shut", code="vram-held", text=HELD_VRAM)),
    ),
    "unkillable": (
        facts("failed", "unkillable", STUCK, 7500, build="b3f1c9", cards=("1",)),
        incident(
            told(7600, "liveness_failed", summary="2 requests run and no token came for 15 s"),
            told(7500, "worker_phase", phase="failed", reason_code="unkillable", reason=STUCK),
            told(7500, "card_quarantined", card=1, text="GPU 1 is in quarantine: processes of llm on it cannot be killed"),
        ),
    ),
    "streamed-tool-call-dropped": (
        facts("ready", "ready", "serving", 86000, build="b3f1c9"),
        incident(told(240, "judge_told", step="alert", kinds=["tool-calls"], text=STREAM)),
    ),
    "budget-spent": (
        facts("failed", "budget-spent", BUDGET, 60, build="b3f1c9"),
        incident(
            *(told(400 - 50 * n, "worker_exited", cause="engine-dead", text="its engine died: EngineDeadError (exit status 0)") for n in range(1)),
            *(restarted(390 - 50 * n, "engine-dead") for n in range(5)),
            told(60, "worker_phase", phase="failed", reason_code="budget-spent", reason=BUDGET),
        ),
    ),
    "never-started": (facts("stopped", "new", "never started", NOW, wanted=False), None),
    "no-such-program": (
        facts("failed", "spawn-exec-failed", "llm: exec of /opt/vllm/bin/vllm failed: No such file or directory", 40),
        incident(told(40, "worker_phase", phase="failed", reason_code="spawn-exec-failed", reason="llm: exec of /opt/vllm/bin/vllm failed: No such file or directory")),
    ),
    "healthy": (facts("ready", "ready", "serving", 260_000, build="b3f1c9"), None),
    "operator-stop": (facts("stopped", "operator", "stopped by the operator", 300, wanted=False), None),
    "blocked-on-build": (
        facts("blocked", "build-making", "build b3f1c9 is being made: 40 %, applying patches", 25, build="b3f1c9"),
        None,
    ),
    "card-fell-off": (
        facts("backoff", "xid", "the driver reported Xid 79 on 0000:44:00", 3, build="b3f1c9"),
        incident(told(4, "worker_exited", cause="xid", text="the driver reported Xid 79 on 0000:44:00 (the card has fallen off the bus: power, heat or PCIe; the box needs a reboot); its engine died: EngineDeadError (exit status 0)")),
    ),
    "crash-that-is-over": (
        facts("ready", "ready", "serving", 3700, build="b3f1c9"),
        incident(
            told(3900, "worker_exited", cause="cuda-oom", text="the card ran out of memory: CUDA out of memory. Tried to allocate 72.00 MiB. (exit status 0)"),
            restarted(3890, "cuda-oom"),
            told(3700, "worker_ready", seconds=60.0),
            told(3580, "judge_cured", text="ready, and nothing bad happened for 120 s"),
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SCENES)
def test_it_reads_right(name):
    """As somebody read it and found it good."""
    assert why(*SCENES[name], NOW) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")


def test_no_golden_file_is_left_over():
    """Each belongs to a scene."""
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(SCENES)


@pytest.mark.parametrize("name", SCENES)
def test_it_is_one_plain_paragraph(name):
    """Of whole sentences, not too long, without gaps."""
    text = why(*SCENES[name], NOW)
    assert len(text) < 900
    assert "\n" not in text
    assert "  " not in text
    assert ".." not in text.replace("...", "")
    assert text.endswith(".")
    assert text.startswith("llm ")


@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_has_advice_with_commands_that_exist(cause):
    """A person types them as they stand."""
    found = replace(SCENES["host-oom"][1], cause=cause, title=causes.TITLES[cause])
    commands(why(SCENES["host-oom"][0], found, NOW))
    assert set(BY_CAUSE) == set(CAUSES)


@pytest.mark.parametrize("name", SCENES)
def test_the_commands_that_it_names_exist(name):
    """In every scene."""
    commands(why(*SCENES[name], NOW))


def commands(text: str) -> None:
    for found in COMMAND.finditer(text):
        node: click.Command = root
        context = click.Context(root)
        for word in found[1].split():
            if not isinstance(node, click.Group):
                break
            following = node.get_command(context, word)
            assert following is not None, f"genesisctl {found[1]}"
            node = following
        assert not isinstance(node, click.Group), f"genesisctl {found[1]}"


@pytest.mark.parametrize("phase", [str(phase) for phase in Phase])
def test_every_phase_has_words(phase):
    """With an incident, without one, and with one that is over."""
    assert phase in PHASES
    for one in (None, SCENES["host-oom"][1], SCENES["crash-that-is-over"][1]):
        assert PHASES[phase].format(span="10 min") in why(facts(phase, "x", "some reason"), one, NOW)


def test_an_old_incident_is_not_told():
    """What was mended days ago explains nothing."""
    text = why(facts("ready", build="b"), replace(SCENES["crash-that-is-over"][1], closed=NOW - 90_000), NOW)
    assert "No incident is open" in text


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=700)


@given(reason=words, first=words, later=st.lists(words, max_size=6), phase=st.sampled_from(sorted(PHASES)))
def test_whatever_is_quoted_it_stays_one_paragraph(reason, first, later, phase):
    """Engines and operators say anything, and the first and the last sentence always stand."""
    whats = ("rollback", "bisection", "quarantine", "hold", "restart", "exit")
    happenings = tuple(Happening(NOW - 9, what, text) for what, text in zip(whats, later, strict=False))
    one = Incident("llm", 1, NOW - 100, "crash", "it crashed", first, id=3, happenings=happenings)
    text = why(facts(phase, "x", reason), one, NOW)
    assert len(text) < 900
    assert "\n" not in text
    assert "  " not in text
    assert text.startswith(f"llm {PHASES[phase].format(span='10 min')}")
    assert "What you can do: " in text


if __name__ == "__main__":
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for scene, seen in SCENES.items():
        (GOLDEN / f"{scene}.txt").write_text(why(*seen, NOW) + "\n", encoding="utf-8")
