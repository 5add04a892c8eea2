from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

from genesisd.kernels.replays import Rates
from genesisd.kernels.tq_store import cases, checking, problems, table, timing
from genesisd.kernels.tq_store.comparing import difference
from genesisd.kernels.tq_store.launch import tq_store
from genesisd.kernels.tq_store.plan import Plan
from genesisd.kernels.tq_store.reference import reference
from genesisd.kernels.tq_verify import problems as verifying
from genesisd.kernels.tq_verify.cases import TOLERANCE, Case
from genesisd.kernels.tq_verify.launch import tq_verify
from genesisd.kernels.tq_verify.pack import fp8_bytes
from genesisd.kernels.tq_verify.reference import attend, keys_of

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
CASE, RATES = cases.Case("2 x 64, 3 tokens", 3, 2, 64, skipped="none", wide=True), Rates(1e8, 1e12)


@pytest.mark.parametrize("case", cases.CPU_EDGES, ids=lambda case: case.name)
def test_writes_the_very_bytes(case):
    """Every odd shape leaves the cache as the plain steps do, and all other bytes as they were."""
    assert checking.failure(case, "cpu") is None


@pytest.mark.parametrize("fp8_format", ["e4nv", "e4b15"])
def test_every_number_becomes_its_byte(fp8_format):
    """All finite bfloat16 numbers, halves between two bytes and those beyond the greatest among them."""
    assert checking.failure(checking.every_number(fp8_format), "cpu") is None


@pytest.mark.parametrize("plan", [Plan(1, 1), Plan(2, 1), Plan(4, 4), Plan(64, 4)], ids=lambda plan: str(plan.rows))
def test_the_number_of_rows_changes_nothing(plan):
    """Any cut writes the same bytes, also one with more rows than there are."""
    assert checking.failure(cases.Case("x", 13, 3, 72), "cpu", plan) is None


def test_the_hand_made_case():
    """One token: keys of which one is too great, values from 0 to 15 eighths."""
    key = torch.full((1, 1, 64), 1.0)
    key[0, 0, :3] = torch.tensor([1000.0, -1000.0, -0.0])
    value = (torch.arange(64.0) % 16 / 8).view(1, 1, 64)
    cache = torch.full((2, 16, 1, 100), 0xEE, dtype=torch.uint8)
    tq_store(key, value, cache, torch.tensor([17]))
    slot = cache[1, 1, 0]
    assert slot[:4].tolist() == [0x7E, 0xFE, 0x80, 0x38]
    assert slot[64:68].tolist() == [0x10, 0x32, 0x54, 0x76]
    assert slot[96:].view(torch.float16).tolist() == [0.125, 0.0]
    cache[1, 1, 0] = 0xEE
    assert (cache == 0xEE).all()


def test_a_token_that_is_padding_writes_nothing():
    """A captured graph has more rows than requests: their slots are negative."""
    problem = problems.make(cases.Case("x", 5, 2, 64, skipped="all"), "cpu", seed=1)
    before = problem.cache.clone()
    tq_store(*problem.arguments())
    assert torch.equal(before, problem.cache)


def test_what_was_stored_is_what_is_attended():
    """The bytes that tq_store writes are the ones that tq_verify reads."""
    problem = verifying.make(Case("x", 4, 2, 64, (40,), (2,)), "cpu", seed=3)
    generator = torch.Generator().manual_seed(4)
    key, value = (torch.randn(40, 2, 64, generator=generator) for _ in range(2))
    place = torch.arange(40)
    tq_store(key, value, problem.cache, problem.table[0][place // 16].long() * 16 + place % 16)
    out = tq_verify(*problem.arguments(), max_query_len=2, scale=problem.scale)
    right = attend(problem.query, keys_of(fp8_bytes(key, "e4nv"), "e4nv"), value.double(), problem.scale)
    assert verifying.error(out, right) < 0.1
    assert verifying.error(out, right) > TOLERANCE / 10


def test_keys_are_the_nearest_of_their_format():
    """The plain steps' own rounding: no other byte is nearer to a key."""
    keys = torch.cat([torch.randn(2000), torch.randn(500) * 0.01]).clamp(-1.7, 1.7)
    for fp8_format in ("e4nv", "e4b15"):
        every = keys_of(torch.tensor([i for i in range(256) if i & 127 != 127], dtype=torch.uint8), fp8_format)
        nearest = (keys.double()[:, None] - every).abs().amin(1)
        found = (keys.double() - keys_of(fp8_bytes(keys, fp8_format), fp8_format)).abs()
        cut = 0.0 if fp8_format == "e4nv" else 2**-10  # it loses what a float16 has not before it is rounded
        assert (found <= nearest + keys.double().abs() * cut + cut * 2**-14).all()


@pytest.mark.parametrize(
    ("at", "change", "said"),
    [
        (3, 1, "1 key bytes differ"),
        (70, 0x20, "values differ, by up to"),
        (96, 2, "scales differ by"),
        (98, 1, "zeros differ"),
    ],
)
def test_a_wrong_byte_is_told_by_what_it_is(at, change, said):
    """Also where ties may go either way."""
    cache = torch.randint(256, (1, 16, 1, 100), dtype=torch.uint8)
    cache[..., 70] = 0x55
    other = cache.clone()
    other[0, 5, 0, at] ^= change
    assert said in difference(other, cache, 64, ties=cases.TIES)
    assert difference(cache, cache, 64) is None


def test_ties_may_go_either_way_on_a_device():
    """A nibble and a scale that are off by one are a tie, if there are few of them."""
    cache = torch.full((1, 16, 1, 100), 0x54, dtype=torch.uint8)
    other = cache.clone()
    other[0, 5, 0, 70] = 0x64
    other[0, 5, 0, 96] = 0x55
    assert difference(other, cache, 64, ties=cases.TIES) is None
    assert "scales differ" in difference(other, cache, 64)
    other[0, :, 0, 70:90] = 0x64
    assert "values differ" in difference(other, cache, 64, ties=cases.TIES)


def test_slots_follow_the_reference_s_own_words():
    """The plain steps write a token to page and place of its slot."""
    problem = problems.make(cases.Case("x", 2, 1, 64, skipped="none"), "cpu", seed=5)
    after = reference(*problem.arguments())
    changed = (after != problem.cache).any(-1).any(-1).nonzero().tolist()
    assert sorted(changed) == sorted([slot // 16, slot % 16] for slot in problem.slot_mapping.tolist())


def test_the_table_has_a_row_a_case(untimed):
    """Floor, ours and share stand in the columns of the header; upstream's stay empty without a tree."""
    untimed(timing)
    header, row = table.lines(RATES, [CASE], None, sweep=False)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert len(cells) == header.splitlines()[1].count("---")
    assert cells == [CASE.name, f"{3 * (8 + 2 * (256 + 100)) / 100:.2f}", "", "10.0", "", "216.0%"]


def test_a_sweep_has_a_line_a_cut(untimed):
    """The plan's own is marked."""
    untimed(timing)
    lines = list(table.lines(RATES, [CASE], None, sweep=True))
    assert "(the plan): 10.0 us" in lines[0]
    assert len(set(lines)) == len(lines) > 5
