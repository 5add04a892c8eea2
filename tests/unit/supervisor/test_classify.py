"""Why a life ended: each rule with a line that vLLM really wrote, above the last words that say nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from genesisd.incidents.model import CAUSES
from genesisd.supervisor.causes import RULES
from genesisd.supervisor.classify import Ending, classify
from genesisd.supervisor.kernel_lines import parse
from genesisd.telemetry.names import EXIT_CAUSES

CORE_FAILED = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
PREFIX = re.compile(r"^\(.*?pid=\d+\) ")
SERVING = "(APIServer pid=7) INFO:     Application startup complete."

SAMPLES = [
    ("bad-config", True, 2, ["usage: vllm [-h] [-v]", "vllm: error: unrecognized arguments: --no-such-flag"]),
    ("bad-config", True, 2, ["vllm serve: error: argument --port: invalid int value: 'x'"]),
    ("bad-config", True, 1, ["KeyError: 'invalid tool call parser: nosuch (chose from { hermes,mistral })'"]),
    (
        "bad-config",
        True,
        1,
        [
            "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig",
            "  Value error, User-specified max_model_len (999999) is greater than the derived max_model_len",
        ],
    ),
    (
        "bad-model",
        True,
        1,
        ["  Value error, Model architectures ['NoSuchModel'] are not supported for now. Supported architectures: x"],
    ),
    ("bad-weights", True, 1, ["RuntimeError: Cannot find any model weights with `/models/empty`", CORE_FAILED]),
    ("port-taken", False, 1, ["(APIServer pid=7) OSError: [Errno 98] Address already in use"]),
    ("bad-model", True, 1, ["huggingface_hub.errors.HFValidationError: Repo id must be in the form 'a/b': '/x/y'."]),
    ("bad-model", True, 1, ["huggingface_hub.errors.LocalEntryNotFoundError: Cannot find an appropriate snapshot"]),
    (
        "kv-too-large",
        True,
        1,
        [
            (
                "(Worker pid=9) ValueError: Available memory on node 0 (16.01/18.59 GiB) on kv cache allocation is less"
                " than requested memory for kv (100.0 GiB)"
            ),
            CORE_FAILED,
        ],
    ),
    ("kv-too-small", True, 1, ["(EngineCore pid=8) ValueError: No available memory for the cache blocks", CORE_FAILED]),
    (
        "bad-weights",
        True,
        1,
        [
            (
                "(Worker pid=9) safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata,"
                " file not fully covered"
            ),
            CORE_FAILED,
        ],
    ),
    ("engine-dead", False, 0, [SERVING, "MPClient: engine core exited unexpectedly; starting cleanup"]),
    ("engine-dead", False, 0, [SERVING, "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue"]),
    (
        "cuda-oom",
        False,
        1,
        ["torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 1 GiB free", CORE_FAILED],
    ),
    (
        "bad-environment",
        True,
        1,
        [
            'WARNING 11-30 04:02:38 [cuda.py:45] Failed to import from vllm._qutlass_C: ModuleNotFoundError("No module")',
            "(EngineCore pid=2226) ModuleNotFoundError: No module named 'flashinfer'",
            "(APIServer pid=1992) " + CORE_FAILED,
        ],
    ),
    ("host-oom", False, 1, ["RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory: 12 bytes"]),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.cause}-{RULES.index(rule)}")
def test_the_sample_of_each_rule_has_its_cause(rule):
    """No rule above it takes it away, alone or in a whole tail, with colours and prefixes."""
    code = rule.code if rule.code is not None else 1
    coloured = f"\x1b[0;36m(EngineCore pid=1)\x1b[0;0m {PREFIX.sub('', rule.sample)}"
    for tail in ([rule.sample], ["Traceback (most recent call last):", rule.sample, CORE_FAILED], [coloured, ""]):
        if rule.code == 2 and tail[0] == coloured:
            continue  # argparse knows no prefix
        record = classify(Ending(code, None, tail))
        assert (record.cause, record.permanent) == (rule.cause, rule.permanent), tail
        assert record.text.startswith(rule.text.partition("{")[0])
    assert rule.source


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.code is None], ids=lambda rule: rule.sample[:40])
def test_what_users_wrote_is_no_cause(rule):
    """A server that logs requests holds any words; and a server that served did not fail to load."""
    quoted = f"(APIServer pid=7) INFO 11-30 10:00:00 [logger.py:40] Received request x: prompt: {rule.sample!r}"
    assert classify(Ending(1, None, [SERVING, quoted])).cause == "crash"
    if rule.starting:
        assert classify(Ending(1, None, [SERVING, rule.sample])).permanent is False


def test_every_cause_is_known_to_incidents_and_metrics():
    """One vocabulary."""
    assert {rule.cause for rule in RULES} <= set(CAUSES)
    assert {rule.cause for rule in RULES} | {"xid"} <= set(EXIT_CAUSES)


def test_only_what_stands_above_the_last_word_counts():
    """What is written while it ends is a consequence."""
    tail = ["ValueError: something new", CORE_FAILED, "torch.OutOfMemoryError: CUDA out of memory. Tried to"]
    assert classify(Ending(1, None, tail)).cause == "crash"


OOM = "Memory cgroup out of memory: Killed process 8 (VLLM::EngineCor) total-vm:9kB, anon-rss:8kB"
ENGINE_LOST = "(APIServer pid=7) ERROR 11-30 10:05:12 [core_client.py:622] MPClient: engine core exited unexpectedly"


@pytest.mark.parametrize(
    ("code", "signal", "pid", "tail"),
    [(None, 9, 8, []), (0, None, 7, ["(EngineCore pid=8) INFO 11-30 10:00:00 [core.py:1] loaded", ENGINE_LOST])],
)
def test_the_kernels_kill_of_any_of_its_processes_is_the_cause(code, signal, pid, tail):
    """Leader or engine; the sentence is the kernel's."""
    dump = parse("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=VLLM::EngineCor,pid=8,uid=0", 1.0)
    record = classify(Ending(code, signal, tail, pid=pid, kernel=[dump, parse(OOM, 1.0)]))
    assert record.cause == "host-oom"
    assert record.text.startswith("the kernel killed VLLM::EngineCor (pid 8) for want of memory: Memory cgroup")
    assert classify(Ending(code, signal, tail, pid=pid, kernel=[dump])).text.endswith(dump.text)


@pytest.mark.parametrize(
    ("title", "name", "cause"),
    [
        ("genesis:llm:7", "genesis:llm:7:E", "host-oom"),
        ("genesis:llm:7", "genesis:llm:7", "host-oom"),
        ("genesis:a-long-name:7", "genesis:a-long-", "host-oom"),
        ("genesis:llm:7", "genesis:llm:70:", "engine-dead"),
        ("genesis:llm:7", "VLLM::EngineCor", "engine-dead"),
        ("", "", "engine-dead"),
    ],
)
def test_a_process_is_known_by_its_title_too(title, name, cause):
    """The log may have forgotten its pid long ago."""
    line = f"Memory cgroup out of memory: Killed process 99 ({name}) total-vm:9kB, anon-rss:8kB"
    assert classify(Ending(0, None, [ENGINE_LOST], pid=7, title=title, kernel=[parse(line, 1.0)])).cause == cause


def test_the_kill_of_a_stranger_is_not():
    """Somebody else's process died for memory."""
    record = classify(Ending(0, None, [ENGINE_LOST], pid=9, kernel=[parse(OOM, 1.0)]))
    assert record.cause == "engine-dead"


def test_one_that_was_asked_to_end_was_not_killed_by_the_kernel():
    """Whatever the kernel says."""
    assert classify(Ending(None, 9, [], "sweep", 8, "", [parse(OOM, 1.0)])).cause == "stopped"


FALLEN = "NVRM: Xid (PCI:0000:44:00): 79, GPU has fallen off the bus"
FAULT = "NVRM: Xid (PCI:0000:0a:00): 31, pid=8, name=VLLM::EngineCor, Ch 00000010, MMU Fault"
ILLEGAL = "(EngineCore pid=8) torch.AcceleratorError: CUDA error: an illegal memory access was encountered"


@pytest.mark.parametrize(
    ("tail", "kernel", "cause", "words"),
    [
        ([ENGINE_LOST], FALLEN, "xid", "fallen off the bus"),
        (["(EngineCore pid=8) RuntimeError: CUDA error: unknown error"], FALLEN, "xid", "Xid 79 on 0000:44:00"),
        ([ILLEGAL], FAULT, "illegal-memory-access", "; the driver reported Xid 31"),
        (["(EngineCore pid=8) x", ENGINE_LOST], FAULT, "xid", "its engine died"),
        ([ENGINE_LOST], FAULT, "engine-dead", "its engine died"),
        (["OSError: [Errno 98] Address already in use"], FALLEN, "port-taken", "its port is taken"),
        ([ILLEGAL], FAULT.replace(" 31,", " 48,"), "xid", "double-bit"),
    ],
)
def test_a_fault_of_the_card_is_the_cause_unless_the_program_says_more(tail, kernel, cause, words):
    """Of its own process, or of the whole card where the death is else unclear."""
    record = classify(Ending(1, None, tail, pid=7, kernel=[parse(kernel, 1.0)]))
    assert (record.cause, words in record.text) == (cause, True)


ENDINGS = sorted((Path(__file__).parents[2] / "data" / "endings").glob("*.log"))


@pytest.mark.parametrize("path", ENDINGS, ids=lambda path: path.stem)
def test_a_whole_tail_of_the_real_engine_has_its_cause(path):
    """As it was recorded, with all that stands around the line that tells; the lines of its source are left out."""
    lines = path.read_text(encoding="utf-8").splitlines()
    head = dict(line.removeprefix("# ").split(": ", 1) for line in lines if line.startswith("# ") and ": " in line)
    code, signal, pid = (int(head[name]) if head.get(name) else None for name in ("code", "signal", "pid"))
    kernel = [parse(head["kernel"], 1.0)] if "kernel" in head else []
    record = classify(
        Ending(code, signal, [line for line in lines if not line.startswith("# ")], None, pid, "", kernel)
    )
    assert record.cause == head["cause"]


def test_there_are_such_tails_of_many_causes():
    """One that was deleted by mistake would be missed by nobody else."""
    assert len(ENDINGS) >= 17


@pytest.mark.parametrize(("cause", "permanent", "code", "tail"), SAMPLES)
def test_a_real_line_has_its_cause(cause, permanent, code, tail):
    """The line above the last RuntimeError decides, and the sentence quotes it."""
    record = classify(Ending(code, None, tail))
    assert (record.cause, record.permanent, record.code) == (cause, permanent, code)
    assert f"exit status {code}" in record.text
    assert "See root cause above" not in record.text


@pytest.mark.parametrize(
    ("ending", "cause", "words"),
    [
        (Ending(0, None), "crash", "without being asked"),
        (Ending(1, None, ["Traceback", "ValueError: something new", ""]), "crash", "ValueError: something new"),
        (Ending(None, 11), "crash", "SIGSEGV"),
        (Ending(None, 9), "killed", "SIGKILL"),
        (Ending(None, None), "unknown", "not known"),
        (Ending(0, None, asked="signal 15"), "stopped", "asked to stop"),
        (Ending(None, 9, ["EngineDeadError"], asked="sweep"), "stopped", "SIGKILL"),
        (Ending(None, 64 + 1, ["x"]), "crash", "signal 65"),
    ],
)
def test_without_a_tell_tale_line_the_bare_facts_speak(ending, cause, words):
    """Such a death is worth another try."""
    record = classify(ending)
    assert (record.cause, record.permanent) == (cause, False)
    assert words in record.text


@pytest.mark.parametrize(
    "line", ["OSError: [Errno 98] Address already in use", "SafetensorError: broken", "HFValidationError: Repo id"]
)
def test_the_same_words_of_a_serving_worker_are_no_reason_to_give_up(line):
    """A worker that has served dies of something else; it is started again."""
    assert classify(Ending(1, None, [SERVING, line])).permanent is False


def test_the_refused_command_line_needs_its_exit_status():
    """Any program may print 'error:'; only argparse leaves with 2."""
    assert classify(Ending(1, None, ["vllm: error: unrecognized arguments: --x"])).cause == "crash"


def test_an_engine_that_failed_to_start_for_a_known_reason_is_not_just_dead():
    """The root cause outranks its consequence, in whatever order they stand."""
    tail = ["EngineDeadError", "ValueError: No available memory for the cache blocks", "EngineDeadError"]
    assert classify(Ending(1, None, tail)).cause == "kv-too-small"


def test_colours_and_length_do_not_matter():
    """Terminal colours are ignored and a long line is cut."""
    record = classify(Ending(1, None, ["\x1b[31mSafetensorError: " + "x" * 5000 + "\x1b[0m"]))
    assert record.cause == "bad-weights"
    assert len(record.text) == 400


def test_every_rule_has_a_pattern_that_fills_its_sentence():
    """A rule that could not be worded would fail at the worst moment."""
    for rule in RULES:
        groups = re.compile(rule.pattern).groups
        assert rule.text.format(*["x"] * groups)


def test_an_unknown_death_is_told_by_its_root_cause():
    """Not by the last line, which only says where to look."""
    tail = [
        "(EngineCore pid=8)   File 'x.py', line 3, in load",
        "(EngineCore pid=8) ERROR 11-30 10:17:18 [core.py:953] torch.AcceleratorError: something new",
        "(APIServer pid=7) " + CORE_FAILED,
    ]
    found = classify(Ending(1, None, tail))
    assert (found.cause, found.text) == (
        "crash",
        "exit status 1: torch.AcceleratorError: something new",
    )


def test_an_optional_module_that_is_missing_is_no_cause():
    """vLLM warns about many and serves without them."""
    warning = 'WARNING [cuda.py:45] Failed to import from vllm._qutlass_C: ModuleNotFoundError("No module")'
    assert classify(Ending(1, None, [warning])).cause == "crash"


SERVED = [
    '(APIServer pid=7) INFO:     127.0.0.1:5 - "GET /health HTTP/1.1" 200 OK',
    "(EngineCore pid=8) INFO 11-30 10:00:00 [loggers.py:1] Engine 000: Avg prompt throughput: 12.0 tokens/s, Running: 1",
]


@pytest.mark.parametrize("line", SERVED)
@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.starting], ids=lambda rule: rule.pattern[:30])
def test_a_long_life_did_not_die_of_its_start(rule, line):
    """The line that says when it began to serve is far above its last words; what it served since is not."""
    assert classify(Ending(1, None, [line, rule.sample, line])).cause == "crash"
