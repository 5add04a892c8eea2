"""The kernel is tried before it serves: what answers wrong, or does not run, is left out with the reason."""

from __future__ import annotations

import dataclasses
import types

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

from genesisd.carried import trial
from genesisd.carried.fp8_keys import Fp8Keys
from genesisd.kernels.tq_verify import K8V4, hopper, launch
from genesisd.kernels.tq_verify.guards import Setting
from genesisd.kernels.tq_verify.reference import reference

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
CPU, BF16 = torch.device("cpu"), torch.bfloat16
LAYOUT = K8V4(64)
SLOT = LAYOUT.slot_bytes
BY_TOKENS, BY_HEADS = (16 * 2 * SLOT, 2 * SLOT, SLOT), (16 * 2 * SLOT, SLOT, 16 * SLOT)
SETTING = Fp8Keys(Setting(LAYOUT, 16, 4, 2, 3, (9, 0), "e4nv", BY_TOKENS))


@pytest.fixture(autouse=True)
def _nothing_was_tried(monkeypatch):
    monkeypatch.setattr(trial, "_TRIED", {})
    monkeypatch.setattr(hopper, "_LEFT_OUT", {})


def kernel(spoiled=lambda out, *_: None, **more):
    """The launcher whose every answer is right, in the reference's words, and then spoiled."""

    def tq_verify(*given, scale, fp8_format, out, plan, scratch, max_query_len):
        assert all(bool(part.isnan().all()) for part in vars(scratch).values())
        out.copy_(reference(*given, scale=scale, fp8_format=fp8_format))
        spoiled(out, given, plan)
        return out

    return types.SimpleNamespace(**vars(launch) | {"tq_verify": tq_verify} | more)


def test_the_kernel_itself_passes():
    """In triton's interpreter, decoding and with drafts."""
    assert trial.refuted(launch, SETTING, 3, BF16, CPU) is None


def test_the_kernel_of_older_cards_passes():
    """With their format of keys, a cache laid by heads, and three heads a group."""

    def shape_of(*given):
        return dataclasses.replace(launch.shape_of(*given), capability=(8, 6))

    older = types.SimpleNamespace(**vars(launch) | {"shape_of": shape_of})
    setting = Fp8Keys(dataclasses.replace(SETTING.setting, cache_strides=BY_HEADS, query_heads=6, fp8_format="e4b15"))
    assert trial.refuted(older, setting, 3, BF16, CPU) is None


def test_every_kind_of_launch_is_tried_once():
    """One new token and the most, one sequence and several; what is known of a setting is not tried again."""
    seen = []
    right = kernel(lambda _out, given, _plan: seen.append((len(given[3]), given[0].shape[0])))
    for _ in range(2):
        assert trial.refuted(right, SETTING, 8, BF16, CPU) is None
    assert {batch for batch, _ in seen} >= {1, 3}
    assert {tokens for batch, tokens in seen if batch == 1} == {1, 3}
    assert len(seen) == len(set(seen))


def test_every_plan_that_the_operation_wants_tried_is_tried():
    """A launch may go another way than small sequences show."""

    class TwoWays(Fp8Keys):
        def tried(self, plan):
            return plan, dataclasses.replace(plan, chunk=2 * plan.chunk)

    seen = []
    right = kernel(lambda _out, given, plan: seen.append((given[0].shape[0], plan.chunk)))
    assert trial.refuted(right, TwoWays(SETTING.setting), 1, BF16, CPU) is None
    assert seen == [(1, 64), (1, 128), (3, 64), (3, 128)]


def last_row(out, *_):
    out[-1] *= 1.5


def unwritten(out, *_):
    out[-1, -1, -1] = float("nan")


def zeros(out, *_):
    out.zero_()


@pytest.mark.parametrize(
    ("spoiled", "told"),
    [
        (lambda out, *_: out.mul_(1.05), "it answers wrong here (token-major, 1 x 1 query tokens): error 5.0e-02"),
        (last_row, "error"),
        (unwritten, "error nan"),
        (zeros, "error 1.0e+00"),
    ],
)
def test_a_wrong_answer_is_told(spoiled, told):
    """A little off, one row, one number that was not written, nothing at all."""
    assert told in trial.refuted(kernel(spoiled), SETTING, 3, BF16, CPU)


def test_a_kernel_that_does_not_run_is_told():
    """Whatever the compiler raises, its first line is in the log."""

    def fails(*_):
        raise ValueError("out of resource: shared memory\nRequired: 300000")

    told = trial.refuted(kernel(fails), SETTING, 3, BF16, CPU)
    assert told == "it does not run here: ValueError: out of resource: shared memory"


def test_want_of_memory_refutes_nothing(caplog):
    """The kernel was not tried, and that is told."""

    def fails(*_):
        raise torch.OutOfMemoryError("tried to allocate 20 MiB")

    assert trial.refuted(kernel(fails), SETTING, 1, BF16, CPU) is None
    assert "taken to be right: tried to allocate 20 MiB" in caplog.text


def test_nor_does_want_of_memory_for_what_it_is_tried_on(monkeypatch, caplog):
    """With a cache of a size that was given nothing is measured, and the card is full by then."""
    real = trial.small

    def small(setting, batch, *rest):
        if batch > 1:
            raise torch.OutOfMemoryError("tried to allocate 2 MiB")
        return real(setting, batch, *rest)

    monkeypatch.setattr(trial, "small", small)
    assert trial.refuted(kernel(), SETTING, 3, BF16, CPU) is None
    assert "taken to be right: tried to allocate 2 MiB" in caplog.text


def cuda(spoiled):
    """A launcher that plans the form in CUDA until that is left out."""

    def shape_of(query, cache, batch, max_query_len):
        found = launch.shape_of(query, cache, batch, max_query_len)
        return dataclasses.replace(found, head_dim=128, warp_groups=None not in hopper._LEFT_OUT)

    return kernel(spoiled, shape_of=shape_of)


def test_a_form_in_cuda_that_is_wrong_makes_place_for_triton(caplog):
    """It is left out on that device, and what serves instead was tried too."""
    forms = []

    def spoil(out, _given, plan):
        forms.append(plan.form)
        if plan.form == "warp-group":
            zeros(out)

    assert trial.refuted(cuda(spoil), SETTING, 2, BF16, CPU) is None
    assert forms[0] == "warp-group"
    assert set(forms[1:]) == {"token-major"}
    assert "the form in CUDA is left out, and triton's serve: it answers wrong here (warp-group" in caplog.text


def test_what_was_tried_with_a_form_that_is_left_out_is_tried_again():
    """Triton's forms serve it from then on, and nobody has tried these."""

    def spoil(out, given, plan):
        if plan.form != "warp-group" or given[1].stride(1) == SLOT:
            zeros(out)

    kernels = cuda(spoil)
    assert trial.refuted(kernels, SETTING, 1, BF16, CPU) is None
    assert "token-major" in trial.refuted(
        kernels, Fp8Keys(dataclasses.replace(SETTING.setting, cache_strides=BY_HEADS)), 1, BF16, CPU
    )
    assert "token-major" in trial.refuted(kernels, SETTING, 1, BF16, CPU)


def test_where_both_are_wrong_the_engine_serves():
    """What is told is of the form that was tried last."""
    assert "token-major" in trial.refuted(cuda(zeros), SETTING, 2, BF16, CPU)


def test_a_form_that_was_left_out_serves_nothing(monkeypatch):
    """On its device, and there alone."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (9, 0))
    monkeypatch.setattr(hopper, "_works", lambda _: True)

    def query(index):
        like = torch.empty(1, 8, 128, dtype=BF16)
        device = types.SimpleNamespace(index=index)
        fields = {"shape": like.shape, "dtype": BF16, "stride": like.stride, "data_ptr": like.data_ptr}
        return types.SimpleNamespace(is_cuda=True, device=device, **fields)

    assert hopper.serves(query(0))
    hopper.leave_out(0, "wrong")
    assert [hopper.serves(query(index)) for index in (0, 1)] == [False, True]


def test_pages_that_lie_far_apart_take_little_memory():
    """A page of many layers is a gigabyte away from the next one; what of that chooses a kernel is kept."""
    far = Fp8Keys(dataclasses.replace(SETTING.setting, cache_strides=((1 << 30) + 16, *BY_TOKENS[1:])))
    given = trial.small(far, 3, 3, BF16, CPU)
    assert given.cache.untyped_storage().nbytes() < 1 << 20
    assert given.cache.stride()[1:] == (*BY_TOKENS[1:], 1)
    assert (given.cache.stride(0) - far.setting.cache_strides[0]) % 64 == 0
