"""What the benchmark tries before it prints anything, on the CPU: small cases, and graphs that are played by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

from genesisd.kernels import bench
from genesisd.kernels.tq_codebook.checking import expected
from genesisd.kernels.tq_store.launch import tq_store

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")

ERROR = r"\d\.\d\de-\d\d"
NUMBER = rf"{ERROR}|(?<=seed )\d+|Plan\(.*?\)"
NAMED = {
    "tq_verify": [
        "decode, group 8: error #, allowed 0e+00 (seed #)",
        "verify, group 8: error #, allowed 0e+00 (seed #)",
        "captured graph: error #",
        "captured graph, raw tail: error #",
    ],
    "tq_codebook": [
        "4bit_nc: decode, group 8: error #, allowed 0e+00 (seed #)",
        "4bit_nc: verify, group 8: error #, allowed 0e+00 (seed #)",
        "4bit_nc: captured graph: error #",
        "k3v4_nc: captured graph: error #",
        "k3v4_nc: the engine's: not the engine's attention: #",
    ],
    "lm_head_fp8": [
        "1 rows: error #, allowed 0e+00 (seed #, its own plan)",
        "2 rows: error #, allowed 0e+00 (seed #, its own plan)",
        "plans: error #, allowed 0e+00 (seed #, #)",
        "captured graph: error #",
    ],
}
"""What is told where no error is small enough; # are numbers and plans."""


@pytest.fixture(params=bench.SECTIONS)
def op(request):
    """An operation's name."""
    return request.param


@pytest.fixture
def checking(op, recorded, monkeypatch):
    """The operation's tests of a card, over two small cases."""
    found = bench.of(op, "checking")
    monkeypatch.setattr(found, op, recorded(getattr(found, op)))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: (9, 0))
    monkeypatch.setattr(found.cases, "GPU_EDGES", found.cases.CPU_EDGES[:2])
    monkeypatch.setattr(found, "SIZE", (512, 300), raising=False)
    make = found.problems.make
    monkeypatch.setattr(found.problems, "make", lambda case, device, seed: make(shorter(case), device, seed))
    if hasattr(found, "candidates"):
        candidates = found.candidates
        monkeypatch.setattr(found, "candidates", lambda shape: candidates(shape)[:1])
    return found


def shorter(case):
    """The same with no sequence of more than 200 tokens: the interpreter takes a minute over what a card does at once."""
    return replace(case, lens=tuple(min(length, 200) for length in case.lens)) if hasattr(case, "lens") else case


@pytest.mark.parametrize("op", ["tq_verify", "tq_codebook", "lm_head_fp8"], indirect=True)
def test_what_is_wrong_is_named_with_its_error(op, checking, monkeypatch):
    """Each case, and each graph that serves what came after it was captured; no error here is more than is allowed."""
    theirs = SimpleNamespace(fill=lambda _: None, attention=expected)
    if op == "tq_codebook":
        monkeypatch.setattr(bench.of(op, "upstream"), "Upstream", lambda *_: theirs)
    allowed = checking.cases.TOLERANCE
    none = dict.fromkeys(allowed, 0.0) if isinstance(allowed, dict) else 0.0
    monkeypatch.setattr(checking.cases, "TOLERANCE", none)
    said = checking.failures("cpu", Path("a tree"))
    assert set(NAMED[op]) <= {re.sub(NUMBER, "#", line) for line in said}
    most = allowed["float32"] if isinstance(allowed, dict) else allowed
    assert all(float(re.search(ERROR, line)[0]) < most for line in said)


@pytest.mark.parametrize("op", ["tq_store"], indirect=True)
def test_nothing_is_wrong_where_all_is_well(checking, monkeypatch):
    """Neither beside the plain steps nor beside the engine's own."""
    monkeypatch.setattr(bench.of("tq_store", "upstream"), "Upstream", lambda *_: SimpleNamespace(store=tq_store))
    assert checking.failures("cpu", Path("a tree")) == []


@pytest.mark.parametrize("op", ["tq_store"], indirect=True)
def test_a_byte_that_is_wrong_is_named(checking, monkeypatch):
    """Of the store, which is held to the byte, also against the engine's own."""
    monkeypatch.setattr(checking, "difference", lambda *_: "3 key bytes differ")
    case = checking.cases.CPU_EDGES[0]
    assert re.fullmatch(rf"{case.name}: 3 key bytes differ \(seed \d+, its own plan\)", checking.failure(case, "cpu"))
    assert (
        checking.unlike(case, SimpleNamespace(store=tq_store), "cpu")
        == f"{case.name}: not the engine's bytes: 3 key bytes differ"
    )
