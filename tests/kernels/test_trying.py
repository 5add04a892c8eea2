"""What the tests of a card rest on: were it wrong, they would be green whatever the card does."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")

from genesisd.kernels.trying import error, replayed, seed
from genesisd.kernels.upstreams import each_token, engine_s


@pytest.fixture
def held():
    """An input and an output."""
    return torch.tensor([1.0, 2.0]), torch.zeros(2)


def test_a_graph_is_replayed_over_the_inputs_own_numbers(recorded, held):
    """Others stand in them while it is captured, and none of these is left."""
    x, out = held
    double = recorded(lambda x, out: torch.mul(x, 2, out=out))
    assert replayed(lambda: double(x, out), out, [(x, 9.0)]).tolist() == [2.0, 4.0]
    assert x.tolist() == [1.0, 2.0]


def test_what_a_graph_keeps_of_its_capture_is_seen(recorded, held):
    """A launch that took a number of the input at its capture answers for the others."""
    x, out = held
    fill = recorded(out.fill_)
    assert replayed(lambda: fill(x.sum().item()), out, [(x, 9.0)]).tolist() == [18.0, 18.0]


@pytest.mark.usefixtures("recorded")
def test_what_a_graph_does_not_write_is_not_a_number(held):
    """Whatever stood there before."""
    x, out = held
    assert replayed(lambda: None, out, [(x, 9.0)]).isnan().all()


def test_an_error_is_relative_and_what_is_missing_counts():
    """Over the norm of what was expected, if there is one."""
    expected = torch.tensor([3.0, 4.0], dtype=torch.float64)
    assert error(torch.tensor([3.0, 4.5]), expected) == pytest.approx(0.1)
    assert math.isnan(error(torch.tensor([3.0, float("nan")]), expected))
    assert error(torch.tensor([0.0, 2.0]), 0 * expected) == 2.0


def test_a_seed_draws_the_same_again():
    """And another one is drawn each time."""
    drawn = seed()
    once, again = (torch.randn(8, generator=torch.Generator().manual_seed(drawn)) for _ in range(2))
    assert torch.equal(once, again)
    assert len({seed() for _ in range(8)}) > 1


def test_each_query_token_is_a_sequence_of_the_engine_s():
    """With its sequence's pages, and with the tokens up to itself."""
    tables = [torch.tensor([[7, 8], [5, 6]], dtype=torch.int32), torch.tensor([[1, 2], [3, 4]], dtype=torch.int32)]
    rows, lens = each_token(tables, torch.tensor([20, 3], dtype=torch.int32), 2)
    assert lens.tolist() == [19, 20, 2, 3]
    assert [table.tolist() for table in rows] == [[[7, 8]] * 2 + [[5, 6]] * 2, [[1, 2]] * 2 + [[3, 4]] * 2]


def test_without_a_tree_there_is_nothing_beside_ours():
    """Nor is the engine's side loaded, which lays files out for it."""
    assert engine_s("no operation of this name", None) is None
