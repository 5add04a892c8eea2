"""What the benchmark measures, on the CPU: all but the clock, and the engine's kernels in plain steps."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

from genesisd.kernels import tq_codebook, tq_verify
from genesisd.kernels.replays import Rates
from genesisd.kernels.tq_codebook import timing as of_codebooks
from genesisd.kernels.tq_verify import timing as of_verifying

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
RATES = Rates(1e9, 1e12)


@pytest.mark.parametrize("count", [1, 2])
def test_attention_over_codebooks_is_measured_beside_the_engine_s(untimed, count):
    """Times of both, and both errors where the context is short enough for the reference."""
    untimed(of_codebooks, times=[10.0, 30.0])
    case = tq_codebook.cases.Case("x", "4bit_nc", 4, 2, 64, (40,) * count, (2,) * count)
    theirs = SimpleNamespace(prepared=lambda turns: lambda i: of_codebooks.expected(turns[i % len(turns)]))
    found = of_codebooks.measure(case, RATES, theirs)
    assert (found.ours_us, found.upstream_us) == (10.0, 30.0)
    assert found.floor_us == pytest.approx(count * 40 * 2 * 70 / 1e3)
    if count == 1:
        assert found.upstream_error == 0.0 < found.error < tq_codebook.cases.TOLERANCE
    else:
        assert found.error is found.upstream_error is None


@pytest.mark.parametrize("tail", [False, True])
def test_attention_over_fp8_keys_is_measured_beside_the_engine_s(untimed, monkeypatch, tail):
    """Likewise; the engine's knows no raw tail and stands beside our fastest form alone."""
    made = of_verifying.problems.make
    monkeypatch.setattr(
        of_verifying.problems, "make", lambda case, _card, seed, spare, **how: made(case, "cpu", seed, spare, **how)
    )
    untimed(of_verifying, times=[10.0, 30.0])
    case = tq_verify.cases.Case("x", 4, 2, 64, (40,), (2,), tail=tail, triton=tail)
    found = of_verifying.measure(case, RATES, SimpleNamespace(prepared=reference_over))
    assert found.floor_us == pytest.approx(40 * 2 * 100 / 1e3)
    assert (found.ours_us, found.upstream_us) == (10.0, None if tail else 30.0)
    if not tail:
        assert found.upstream_error == 0.0 < found.error < tq_verify.cases.TOLERANCE


def reference_over(problem, tables):
    """The plain steps where the engine's kernel would be."""
    turns = [replace(problem, table=table) for table in tables]
    return lambda i: of_verifying.reference(*turns[i % len(turns)].arguments(), scale=problem.scale)
