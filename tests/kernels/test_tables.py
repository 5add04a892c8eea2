"""What the benchmark prints and writes, to the letter: nobody reads it before a card was paid for."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
triton = pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

from genesisd.kernels import bench, lm_head_fp8, replays, tq_codebook, tq_store
from genesisd.kernels.lm_head_fp8 import timing as of_logits
from genesisd.kernels.tq_codebook import timing as of_codebooks
from genesisd.kernels.tq_store import timing as of_stores
from genesisd.kernels.tq_verify import timing as of_verifying

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
RATES = replays.Rates(1e9, 1e12)
TREE = Path("a tree")
MEASURED = {
    "tq_verify": {
        0: of_verifying.Measured(3.04, 14.44, 141.96, 1.84e-3, 1.66e-3),
        10: of_verifying.Measured(50.0, 80.0, None, None, None),
        -1: of_verifying.Measured(70.04, 110.06, 5000.0, None, None),
    },
    "tq_codebook": {
        0: of_codebooks.Measured(3.04, 14.44, 141.96, 1.84e-3, 1.66e-3),
        -1: of_codebooks.Measured(50.0, 80.0, None, None, None),
    },
    "lm_head_fp8": {
        0: of_logits.Measured(80.04, 100.06, 160.04, 90.06, 1.84e-3, 2.5e-2),
        -1: of_logits.Measured(50.0, 80.0, 90.0, None, 1e-3, 2e-2),
    },
    "tq_store": {0: of_stores.Measured(0.054, 7.44, 41.96), -1: of_stores.Measured(50.0, 80.0, None)},
}
"""What is measured of which of an operation's cases."""
PRINTED = {
    "tq_verify": """\
| query heads / KV heads / dim | query tokens | floor us | upstream us | ours us | times faster | of the floor | goal | error, upstream's |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| 8/1/256, B=1, 8K | 6 | 3.0 | 142.0 | 14.4 | x9.8 | 21.1% | 15 us yes | 1.8e-03, 1.7e-03 |
| 8/1/256, B=8, 128K | 6 | 50.0 |  | 80.0 |  | 62.5% | 50 % yes |  |
| 32/8/128, B=8, 32K, in triton, raw tail | 1 | 70.0 | 5000.0 | 110.1 | x45.4 | 63.6% |  |  |""",
    "tq_codebook": """\
| cache kind, query heads / KV heads / dim | query tokens | floor us | upstream us | ours us | times faster | of the floor | error, upstream's |
| --- | --- | --- | --- | --- | --- | --- | --- |
| 4bit_nc, 8/1/256, B=1, 8K | 6 | 3.0 | 142.0 | 14.4 | x9.8 | 21.1% | 1.8e-03, 1.7e-03 |
| k3v4_nc, 32/8/128, B=8, 128K | 1 | 50.0 |  | 80.0 |  | 62.5% |  |""",
    "lm_head_fp8": """\
| hidden x vocabulary, rows | floor us | bfloat16 us | torch FP8 us | ours us | of the floor | goal | error | of FP8 |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| 2048 x 151936, 1 row | 80.0 | 160.0 | 90.1 | 100.1 | 80.0% | 75% yes | 1.8e-03 | 2.5e-02 |
| 5120 x 248320, 8 rows | 50.0 | 90.0 |  | 80.0 | 62.5% | 75% **no** | 1.0e-03 | 2.0e-02 |""",
    "tq_store": """\
| KV heads x dim, new tokens | floor us | upstream us | ours us | times faster | of the floor |
| --- | --- | --- | --- | --- | --- |
| 1 x 256, 1 token | 0.05 | 42.0 | 7.4 | x5.6 | 0.7% |
| 8 x 128, 8192 tokens | 50.00 |  | 80.0 |  | 62.5% |""",
}
SWEPT = {
    "tq_verify": (None, (), ""),
    "tq_codebook": (
        tq_codebook.cases.Case("4bit_nc, 4/2/64", "4bit_nc", 4, 2, 64, (40,), (2,)),
        (tq_codebook.plan.Plan(16, 16, 2, 4, splits=2), tq_codebook.plan.Plan(16, 64, 2, 4, splits=1)),
        """\
4bit_nc, 4/2/64, 2 query tokens: 16 rows, 16 tokens, 2 stages, 4 warps, 2 splits (the plan): 10.0 us, 49.8%
4bit_nc, 4/2/64, 2 query tokens: 16 rows, 64 tokens, 2 stages, 4 warps, 1 splits: 20.0 us, 25.0%""",
    ),
    "lm_head_fp8": (
        lm_head_fp8.cases.Case("64 x 48, 2 rows", 2, 64, 48, out="bfloat16"),
        (lm_head_fp8.plan.Plan(128, 256, 8, 3, 8, 3), lm_head_fp8.plan.Plan(16, 256, 16, 3, 4, 2)),
        """\
64 x 48, 2 rows: 128 x 256, 3 stages, 8 warps (the plan): 10.0 us, 49.8%
64 x 48, 2 rows: 16 x 256, 3 stages, 4 warps: 20.0 us, 25.0%""",
    ),
    "tq_store": (
        tq_store.cases.Case("2 x 64, 3 tokens", 3, 2, 64, skipped="none", wide=True),
        (tq_store.plan.Plan(2, 1), tq_store.plan.Plan(4, 4)),
        """\
2 x 64, 3 tokens: 2 rows, 1 warps (the plan): 10.0 us, 49.8%
2 x 64, 3 tokens: 4 rows, 4 warps: 20.0 us, 25.0%""",
    ),
}
"""A case, the cuts that are tried of it, and the lines of a sweep."""


@pytest.fixture(params=bench.SECTIONS)
def op(request):
    """An operation's name."""
    return request.param


@pytest.fixture
def measured(op, monkeypatch):
    """The operation's cases that have fake figures, and with what each was measured."""
    asked, figures = [], iter(MEASURED[op].values())
    monkeypatch.setattr(bench.of(op, "timing"), "measure", lambda *with_: (asked.append(with_), next(figures))[1])
    return [bench.of(op, "cases").BENCHED[i] for i in MEASURED[op]], asked


@pytest.fixture
def swept(op, monkeypatch, untimed):
    """The operation's case that is swept over two cuts on the CPU: 10.04 and 20 us, over a floor of 5."""
    case, plans, _ = SWEPT[op]
    timing, table = bench.of(op, "timing"), bench.of(op, "table")
    untimed(timing, table, times=[10.04, 20.0])
    monkeypatch.setattr(timing, "floor_us", lambda *_: 5.0)
    monkeypatch.setattr(table, "candidates", lambda _: plans, raising=False)
    return [case]


def test_a_row_is_what_it_was(op, measured):
    """Header and rows, with empty cells where nothing was measured."""
    cases, asked = measured
    assert "\n".join(bench.of(op, "table").lines(RATES, cases, None, sweep=False)) == PRINTED[op]
    assert [with_[:2] for with_ in asked] == [(case, RATES) for case in cases]
    assert all(with_[2:] in {(), (None,)} for with_ in asked)


def test_the_engine_s_own_is_unpacked_once_and_measured_beside_every_case(op, measured, monkeypatch):
    """Where there is a tree, and a kernel in it that does the same."""
    cases, asked = measured
    if op != "lm_head_fp8":
        unpacked = []
        monkeypatch.setattr(bench.of(op, "upstream"), "Upstream", lambda *of: unpacked.append(of) or "theirs")
    assert "\n".join(bench.of(op, "table").lines(RATES, cases, TREE, sweep=False)) == PRINTED[op]
    if op == "lm_head_fp8":
        assert [len(with_) for with_ in asked] == [2] * len(cases)
    else:
        assert unpacked == [(TREE,)]
        assert [with_[2] for with_ in asked] == ["theirs"] * len(cases)


def test_a_line_of_a_sweep_is_what_it_was(op, swept):
    """A line a cut, the plan's own marked, and no header."""
    assert "\n".join(bench.of(op, "table").lines(RATES, swept, None, sweep=True)) == SWEPT[op][2]


def test_a_cut_that_answers_otherwise_is_told_in_a_sweep(monkeypatch, untimed):
    """Of tq_codebook, whose cuts are not all among its tests."""
    case, plans, _ = SWEPT["tq_codebook"]
    table = bench.of("tq_codebook", "table")
    untimed(of_codebooks, table, times=[10.0, 20.0])
    monkeypatch.setattr(table, "candidates", lambda _: plans)
    monkeypatch.setattr(of_codebooks, "prepared", lambda _, plan: lambda _: torch.full((3,), 1.0 + plans.index(plan)))
    first, second = table.lines(RATES, [case], None, sweep=True)
    assert "WRONG" not in first
    assert second.endswith("%, WRONG by 1.0e+00")


def test_the_command_prints_and_writes_an_operation_s_table(op, measured, monkeypatch, tmp_path, capsys):
    """From its words on the command line to the page, with the card's own figures above."""
    page = tmp_path / "page.md"
    page.write_text("# Benchmarks\n")
    on_a_card(op, monkeypatch)
    monkeypatch.setattr(bench.of(op, "cases"), "BENCHED", measured[0])
    assert bench.main(["--only", op, "--write", str(page)]) == 0
    said = capsys.readouterr().out
    first, second, empty, rest = said.split("\n", 3)
    assert first.endswith(f", A card, torch {torch.__version__}, triton {triton.__version__};")
    assert (second, empty, rest) == ("copy 1 GB/s, bfloat16 products 1 TFLOP/s.", "", f"{PRINTED[op]}\n")
    start, end = bench.marks(op)
    assert page.read_text() == f"# Benchmarks\n\n{bench.section(op)}\n{start}\n{said}{end}\n"


def test_the_command_writes_no_sweep(op, swept, monkeypatch, tmp_path, capsys):
    """Its lines are printed, and the page stays as it was."""
    page = tmp_path / "page.md"
    page.write_text("# Benchmarks\n")
    on_a_card(op, monkeypatch)
    monkeypatch.setattr(bench.of(op, "cases"), "BENCHED", [case for case in swept if case is not None])
    assert bench.main(["--only", op, "--sweep", "--write", str(page)]) == 0
    assert capsys.readouterr().out.split("\n\n", 1)[1].strip() == SWEPT[op][2]
    assert page.read_text() == "# Benchmarks\n"


def on_a_card(op, monkeypatch):
    """What the command asks of a card before it measures anything; the operation's tests are green."""
    monkeypatch.setattr(bench.of(op, "checking"), "failures", lambda _device, _upstream: [])
    monkeypatch.setattr(replays, "rates", lambda: RATES)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "A card")
