from __future__ import annotations

import dataclasses

import pytest

from genesisd.kernels.tq_verify.plan import Shape, plan_for, power_of_two

H200 = {"capability": (9, 0), "processors": 132}
A5000 = {"capability": (8, 6), "processors": 64}


def shape(batch=8, kv_heads=1, group=8, head_dim=256, max_query_len=6, **device):
    """A shape on a device, Hopper's if none is named."""
    return Shape(batch, kv_heads, group, head_dim, max_query_len, **(device or H200))


@pytest.mark.parametrize("group", [1, 3, 4, 6, 8, 12, 16])
@pytest.mark.parametrize("count", [1, 2, 5, 16])
@pytest.mark.parametrize("head_dim", [64, 96, 128, 256, 512])
@pytest.mark.parametrize("device", [H200, A5000], ids=["sm_90", "sm_86"])
def test_programs_hold_every_row_in_a_power_of_two(group, count, head_dim, device):
    """Blocks of rows cover all rows of a group; products need 16 rows, or 8 where they stand in N."""
    plan = plan_for(shape(group=group, head_dim=head_dim, max_query_len=count, **device))
    assert plan.rows == power_of_two(plan.rows)
    assert plan.rows >= (8 if plan.form == "token-major" else 16)
    assert plan.tokens in {16, 32, 64}


def test_all_multiprocessors_work_on_one_long_sequence():
    """One sequence with one KV head is cut into enough splits to fill the device."""
    assert plan_for(shape(batch=1)).splits >= 132


def test_splits_shrink_as_the_batch_grows_down_to_one():
    """The number of programs stays about one wave; a batch that fills the device by itself is not split."""
    splits = [plan_for(shape(batch=batch)).splits for batch in (1, 2, 8, 64, 1024)]
    assert splits == sorted(splits, reverse=True)
    assert splits[-1] == 1


@pytest.mark.parametrize("group", [1, 3, 4, 6, 8, 12, 16])
@pytest.mark.parametrize("count", [1, 2, 5, 16])
@pytest.mark.parametrize("head_dim", [128, 256])
def test_warp_groups_hold_every_row_in_multiples_of_eight(group, count, head_dim):
    """The form in CUDA pads rows to 8, never by a whole block, and holds no more than its registers have room for."""
    plan = plan_for(shape(group=group, head_dim=head_dim, max_query_len=count, warp_groups=True, **H200))
    blocks = -(-group * count // plan.rows)
    assert plan.form == "warp-group"
    assert plan.rows % 8 == 0
    assert plan.rows <= 48
    assert blocks * plan.rows - group * count < 8 * blocks
    assert plan.columns == blocks


@pytest.mark.parametrize(
    ("group", "count", "narrow"), [(8, 6, 24), (8, 5, 24), (6, 5, 16), (8, 3, 0), (8, 1, 0), (16, 6, 24)]
)
def test_short_batches_have_programs_of_half_the_rows(group, count, narrow):
    """In twice as many blocks, which hold all rows; programs of few rows stay as they are."""
    plan = plan_for(shape(batch=1, group=group, max_query_len=count, warp_groups=True, **H200))
    assert plan.narrow == narrow
    if narrow:
        assert 2 * plan.columns * narrow >= group * count
        assert plan.narrow <= plan.rows


@pytest.mark.parametrize("batch", [1, 8, 33, 66, 200])
@pytest.mark.parametrize("kv_heads", [1, 2, 5])
def test_short_batches_too_have_a_chunk_to_spare(batch, kv_heads):
    """Half as many chunks have to do then; where they would not, no batch counts as short."""
    plan = plan_for(shape(batch=batch, kv_heads=kv_heads, warp_groups=True, **H200))
    assert not plan.narrow or plan.splits // 2 >= 2 * batch


def test_heads_of_128_are_never_narrow():
    """Their programs are small already: half as many rows were slower at every length."""
    plan = plan_for(shape(batch=1, kv_heads=8, group=4, head_dim=128, max_query_len=16, warp_groups=True, **H200))
    assert plan.narrow == 0


@pytest.mark.parametrize("batch", [1, 8, 200, 1000])
def test_every_sequence_has_a_chunk_to_spare(batch):
    """Chunks of one size always suffice: each sequence's last one may be short."""
    plan = plan_for(shape(batch=batch, warp_groups=True, **H200))
    assert plan.splits >= 2 * batch
    assert plan.splits * plan.columns >= 132


@pytest.mark.parametrize(("head_dim", "found"), [(256, [4, 2, 1]), (128, [2, 1])])
def test_each_kernel_of_the_merge_has_a_plan_of_its_own(head_dim, found):
    """One launch of each plan compiles all that a batch may need, so that no request waits for a compiler."""
    one = {"kv_heads": 2, "head_dim": head_dim, "warp_groups": True}
    plans = [plan_for(shape(batch=batch, **one, **H200)) for batch in range(1, 9)]
    assert list(dict.fromkeys(plan.parts for plan in plans)) == found


@pytest.mark.parametrize("capability", [(8, 0), (8, 6), (8, 9), (10, 0), (12, 0)])
@pytest.mark.parametrize(("head_dim", "count"), [(128, 1), (256, 6), (512, 6)])
def test_no_fp8_products_but_on_hopper(capability, head_dim, count):
    """Older and newer devices, whose FP8 products are not of this kind, widen the keys."""
    one = shape(head_dim=head_dim, max_query_len=count, capability=capability, processors=64)
    assert plan_for(one).keys == "f16"
    assert plan_for(shape(head_dim=head_dim, max_query_len=count)).keys == "fp8"


@pytest.mark.parametrize("batch", [1, 8, 1024])
@pytest.mark.parametrize("device", [H200, A5000], ids=["sm_90", "sm_86"])
def test_a_tail_has_a_split_beside_those_of_the_cache(batch, device):
    """The cache is cut as without one, in triton also where the form in CUDA serves, since that takes no tail."""
    without = plan_for(shape(batch=batch, **device))
    beside = plan_for(dataclasses.replace(shape(batch=batch, **device), tail=True, warp_groups=True))
    assert beside == dataclasses.replace(without, splits=without.splits + 1)


@pytest.mark.parametrize(("n", "power"), [(0, 1), (1, 1), (2, 2), (3, 4), (48, 64), (64, 64)])
def test_the_next_power_of_two(n, power):
    """The smallest power of two that is not below."""
    assert power_of_two(n) == power
