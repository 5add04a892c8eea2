"""Recordings on disk: whose they are, what a build is held against, and files that are none."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from genesisd.errors import ConflictError
from genesisd.probes.golden import Golden, Reply
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.golden_service import explained
from genesisd.wiring.goldens import COMMAND, Goldens, Subject, estranged, subject_of
from genesisd.wiring.starts import Start

PLAIN = Subject("m", "cpu", None)
BUILT = Subject("m", "cpu", "cpu-1+aa")


def golden(subject=PLAIN, differs=None, **answers):
    replies = {name: Reply(text) for name, text in answers.items()}
    return Golden(subject.model, subject.pin, subject.build, "book@1", replies, differs=differs or {}, recorded=5.0)


@pytest.fixture
def goldens(tmp_path):
    return Goldens(tmp_path / "goldens")


def test_what_is_kept_is_there_for_the_next_daemon(goldens, tmp_path):
    """Under names that people recognise."""
    path = goldens.keep(golden(a="1"))
    goldens.keep(golden(BUILT, a="2"))
    assert path.relative_to(tmp_path).as_posix() == "goldens/m/cpu.json"
    again = Goldens(tmp_path / "goldens")
    again.load()
    assert again.of(PLAIN).replies["a"].content == "1"
    assert again.of(BUILT).replies["a"].content == "2"
    assert again.faults == []


def test_a_newer_recording_takes_the_place_of_the_older(goldens):
    """One a build."""
    goldens.keep(golden(a="1"))
    goldens.keep(golden(a="2"))
    assert goldens.of(PLAIN).replies["a"].content == "2"


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B", "/srv/models/a b", "demo:tiny", "..", "x" * 300])
def test_any_model_has_a_folder_of_its_own(goldens, name):
    """No name escapes, and two that look alike do not meet."""
    one, other = Subject(name, "cpu", None), Subject(name + "_", "cpu", None)
    path = goldens.keep(golden(one, a="1"))
    goldens.keep(golden(other, a="2"))
    assert goldens._folder in path.resolve().parents
    again = Goldens(goldens._folder)
    again.load()
    assert (again.of(one).replies["a"].content, again.of(other).replies["a"].content) == ("1", "2")


def test_a_file_that_is_no_recording_is_told_and_costs_only_itself(goldens):
    """People copy files about."""
    path = goldens.keep(golden(a="1"))
    path.with_name("bad.json").write_text("{")
    again = Goldens(goldens._folder)
    again.load()
    assert again.of(PLAIN) is not None
    (fault,) = again.faults
    assert "bad.json" in fault


def test_a_link_that_leads_nowhere_costs_only_itself(goldens):
    """Recordings of a disk that is not mounted: all others were forgotten with it, without a word."""
    path = goldens.keep(golden(a="1"))
    path.with_name("link.json").symlink_to("nowhere")
    again = Goldens(goldens._folder)
    again.load()
    assert again.of(PLAIN) is not None
    (fault,) = again.faults
    assert "link.json" in fault


def test_a_folder_that_cannot_be_looked_at_for_a_moment_forgets_nothing(goldens, monkeypatch):
    """Nor is what was kept meanwhile lost: it counts once somebody can look again."""
    goldens.keep(golden(a="1"))

    def full(*_):
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as short:
        short.setattr("pathlib.Path.glob", full)
        goldens.keep(golden(BUILT, a="2"))
        assert goldens.of(PLAIN) is not None
    assert goldens.of(BUILT) is not None


def test_what_people_copy_in_or_take_out_counts_at_once(goldens, tmp_path):
    """A daemon that runs for months is told by the folder; a copy under another name is no newer than it says."""
    path = goldens.keep(golden(a="1"))
    content = path.read_bytes()
    path.unlink()
    assert goldens.of(PLAIN) is None
    assert goldens.expected(BUILT) is None
    other = path.with_name("z-from-another-box.json")
    other.write_bytes(content)
    assert goldens.expected(BUILT).replies["a"].content == "1"
    goldens.keep(replace(golden(a="2"), recorded=6.0))
    assert goldens.of(PLAIN).replies["a"].content == "2"
    told = []
    goldens.on_fault = told.append
    other.write_text("{")
    assert goldens.of(PLAIN).replies["a"].content == "2"
    assert goldens.of(PLAIN) is not None
    assert len(told) == 1


def test_a_recording_that_could_not_be_kept_stands_in_no_ones_way(goldens):
    """Neither what a daemon that died left half written, nor what a disk would not take."""
    path = goldens.path(PLAIN)
    left = path.with_name(f".{path.name}.{os.getpid()}")
    path.mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        goldens.keep(golden(a="1"))
    assert list(path.parent.iterdir()) == [path]
    path.rmdir()
    left.write_text("half")
    goldens.keep(golden(a="1"))
    assert goldens.of(PLAIN).replies["a"].content == "1"


def test_a_build_is_held_against_its_own_recording(goldens):
    """And one without against the plain pin's, less what patches are known to change."""
    goldens.keep(golden(a="1", b="1"))
    goldens.keep(golden(BUILT, differs={"b": "P61c"}, a="1", b="2"))
    assert goldens.expected(BUILT).replies["b"].content == "2"
    fresh = goldens.expected(Subject("m", "cpu", "cpu-1+bb"))
    assert {name: reply.content for name, reply in fresh.replies.items()} == {"a": "1"}
    assert goldens.expected(Subject("m", "other", "other-1+bb")) is None
    assert goldens.expected(Subject("m", "other", None)) is None


def test_who_a_life_is():
    """By model, pin and build; a command of one's own stands for a pin; of an unknown start nothing is said."""
    spec = WorkerSpec(pin="cpu", model="m")
    assert subject_of("w", spec, Start("cpu-1+aa", pin="cpu")) == BUILT
    assert subject_of("w", spec, Start(None, pin="old")) == Subject("m", "old", None)
    assert subject_of("w", spec, None) is None
    own = WorkerSpec(command=("vllm",), served_model_name="m")
    found = subject_of("w", own, None)
    assert (found.model.partition("@")[0], found.pin, found.build) == ("w", COMMAND, None)


def test_two_workers_of_one_build_that_answer_otherwise_have_recordings_of_their_own():
    """By the flags that shape answers, however they are written; what makes an engine faster must change nothing."""
    start = Start("cpu-1+aa", pin="cpu")

    def model(*args):
        return subject_of("w", WorkerSpec(pin="cpu", model="m", args=args), start).model

    assert model("--max-num-seqs", "8", "--enforce-eager", "--speculative-config.method=ngram") == "m"
    parsed = model("--reasoning-parser", "qwen3", "-q", "fp8")
    assert parsed == "m --quantization=fp8 --reasoning-parser=qwen3"
    assert parsed == model("--quantization=fp8", "--reasoning_parser=deepseek_r1", "--reasoning-parser=qwen3")
    assert len({model("--no-enable-lora"), model("--enable-lora"), model("--hf-overrides.a=1"), model()}) == 4
    for flag in (
        "--mamba-ssm-cache-dtype=float32",
        "--logprobs-mode=raw_logits",
        "--watermark",
        "--quantization-config.a=1",
    ):
        assert model(flag) != "m"


def test_another_model_by_another_command_is_not_held_against_the_last_one():
    """Under the same worker's name, and without a word of the command in it, which may hold a secret."""

    def model(*command):
        return subject_of("w", WorkerSpec(command=command, served_model_name="m"), None).model

    one = model("env", "HF_TOKEN=abcd", "vllm", "serve", "/models/a", "--port", "{port}", "--max-num-seqs", "8")
    assert one == model("env", "HF_TOKEN=abcd", "vllm", "serve", "/models/a", "--port={port}", "--max-num-seqs", "4")
    assert "abcd" not in one
    others = {
        model("env", "HF_TOKEN=abcd", "vllm", "serve", "/models/b", "--port", "{port}"),
        model("env", "HF_TOKEN=abcd", "vllm", "serve", "/models/a", "--dtype=half", "--port", "{port}"),
        model("python", "-m", "server", "--model", "/models/a"),
        model("python", "-m", "server", "--model", "/models/b"),
        model("python", "-um", "another", "--model", "/models/b"),
        model("sh", "-c", "exec vllm serve /models/a --port {port}"),
        model("bash", "-lc", "exec vllm serve /models/b --port {port}"),
        one,
    }
    assert len(others) == 8


def test_recordings_of_an_earlier_version_that_are_nobodys_any_more_are_told():
    """They were of models without their flags, and of workers without their commands; those that still count are not."""
    specs = {
        "flags": WorkerSpec(pin="cpu", model="m", args=("--dtype", "half")),
        "own": WorkerSpec(command=("vllm",), served_model_name="m"),
        "bare": WorkerSpec(pin="cpu", model="n"),
        "beside": WorkerSpec(pin="cpu", model="n", args=("--dtype", "half")),
    }
    assert estranged(specs, {"m", "own", "n"}) == {"flags": "m", "own": "own"}
    assert estranged(specs, {"m", "m --dtype=half"}) == {}


def test_a_difference_has_to_be_named():
    """By a patch that is in the build; one that is named for nothing is not written down."""
    plain, mine = golden(a="1", b="1", c="1"), golden(BUILT, a="1", b="2", c="1")
    with pytest.raises(ConflictError, match=r"1 answers differ .* and no patch is named for it: b: ") as refused:
        explained(mine, plain, {}, ("P1",))
    assert "--explain CASE=PATCH" in refused.value.hint
    with pytest.raises(ConflictError, match="P9 is not in the build"):
        explained(mine, plain, {"b": "P9"}, ("P1",))
    done = explained(mine, plain, {"b": "P1", "c": "P1"}, ("P1",))
    assert dict(done.differs) == {"b": "P1"}
    assert done.reference == "cpu without patches, book@1"
