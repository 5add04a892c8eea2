from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

from genesisd.kernels.lm_head_fp8 import cases, checking, problems, table, timing
from genesisd.kernels.lm_head_fp8.launch import lm_head_fp8
from genesisd.kernels.lm_head_fp8.plan import Plan
from genesisd.kernels.lm_head_fp8.quantise import GREATEST, bound, quantise
from genesisd.kernels.lm_head_fp8.reference import reference
from genesisd.kernels.replays import Rates
from genesisd.kernels.trying import error

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
CASE, RATES = cases.Case("64 x 48, 2 rows", 2, 64, 48, out="bfloat16"), Rates(1e9, 1e12)
TILES = (Plan(128, 256, 8, 3, 8, 3), Plan(64, 128, 8, 4, 4, 3), Plan(16, 256, 16, 3, 4, 2), Plan(64, 512, 8, 3, 4, 3))


@pytest.mark.parametrize("case", cases.CPU_EDGES, ids=lambda case: case.name)
def test_agrees_with_the_reference(case):
    """Every odd shape gives the float64 reference's logits, writes all of them and nothing else."""
    assert checking.failure(case, "cpu") is None


@pytest.mark.parametrize("plan", TILES, ids=lambda plan: f"{plan.channels}x{plan.depth}")
def test_the_tile_changes_nothing(plan):
    """Any cut gives the same logits, also more rows than one program has."""
    assert checking.failure(cases.Case("x", 20, 528, 150), "cpu", plan) is None


def test_every_byte_is_read_as_its_number():
    """All 254 numbers, subnormals and both zeros among them, with both types of activations."""
    assert checking.every_byte("cpu") == []


def test_the_hand_made_case():
    """A row of ones sums the channel's weights and takes its scale."""
    weight, scales = quantise(torch.tensor([[1.0] * 16, [-448.0] + [0.0] * 15, [2.0, 448.0] + [0.0] * 14]))
    out = lm_head_fp8(torch.ones(1, 16, dtype=torch.bfloat16), weight, scales, out=torch.empty(1, 3))
    assert out.tolist() == [[16.0, -448.0, 450.0]]


def test_logits_have_the_type_of_the_activations():
    """Without an output of its own type the caller gets the activations' type."""
    problem = problems.make(cases.Case("x", 2, 64, 40), "cpu", seed=1)
    out = lm_head_fp8(*problem.arguments())
    assert out.dtype == torch.bfloat16
    assert error(out, reference(*problem.arguments())) < cases.TOLERANCE["bfloat16"]


def test_rows_need_not_follow_each_other():
    """Rows of a wider tensor are read where they are."""
    problem = problems.make(cases.Case("x", 3, 64, 40), "cpu", seed=2)
    wide = torch.full((3, 128), float("nan"), dtype=torch.bfloat16)
    wide[:, :64] = problem.x
    assert torch.equal(lm_head_fp8(wide[:, :64], problem.weight, problem.scales), lm_head_fp8(*problem.arguments()))


@pytest.mark.parametrize("weights", ["usual", "outlier", "zero"])
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_weights_are_kept_within_the_bound(weights, size):
    """No weight is further off than half a step of its FP8 number."""
    whole = problems.make(cases.Case("x", 1, 256, 500, weights=weights), "cpu", torch.seed() % 2**31).whole.float()
    numbers, scales = quantise(whole * size)
    kept = numbers.double() * scales.double()[:, None]
    assert ((kept - (whole * size).double()).abs() <= bound(whole * size, scales)).all()


def test_the_greatest_weight_of_a_channel_is_kept():
    """The scale makes the greatest weight the greatest number."""
    numbers, scales = quantise(torch.randn(50, 64) * torch.rand(50, 1))
    assert (numbers.float().abs().amax(1) == GREATEST).all()
    assert scales.isfinite().all()


def test_a_channel_of_zeros_stays_zero():
    """No division by the greatest weight where that is zero."""
    numbers, scales = quantise(torch.zeros(3, 32))
    assert numbers.float().eq(0).all()
    assert scales.gt(0).all()


def test_quantising_in_parts_changes_nothing(monkeypatch):
    """Channels are independent, so it does not matter how many are converted at once."""
    whole = torch.randn(70, 48)
    once = quantise(whole)
    monkeypatch.setattr("genesisd.kernels.lm_head_fp8.quantise.AT_ONCE", 16)
    numbers, scales = quantise(whole)
    assert torch.equal(numbers.view(torch.uint8), once[0].view(torch.uint8))
    assert torch.equal(scales, once[1])


def test_the_table_has_a_row_a_case(untimed):
    """Floor, what is replaced, ours, share, goal and both errors stand in the columns of the header."""
    untimed(timing)
    header, row = table.lines(RATES, [CASE], None, sweep=False)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert len(cells) == header.splitlines()[1].count("---")
    assert cells[:3] == [CASE.name, f"{(64 * 48 + 4 * 48 + 2 * 2 * (64 + 48)) / 1e3:.1f}", "10.0"]
    assert cells[4:7] == ["10.0", "37.1%", "75% **no**"]
    assert float(cells[7]) < cases.TOLERANCE["bfloat16"] < float(cells[8]) < 1 / 16


def test_a_sweep_has_a_line_a_cut(untimed):
    """The plan's own is marked."""
    untimed(timing)
    lines = list(table.lines(RATES, [CASE], None, sweep=True))
    assert "(the plan): 10.0 us, 37.1%" in lines[0]
    assert len(set(lines)) == len(lines) > 5
