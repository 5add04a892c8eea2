"""The way from the engine's backend to the kernels, with the kernels themselves in triton's interpreter."""

from __future__ import annotations

import dataclasses
import types

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

from genesisd.carried import fp8_keys, scratch, trial, turboquant
from genesisd.carried.fp8_keys import Fp8Keys
from genesisd.carried.route import Route
from genesisd.kernels.tq_verify import K8V4, cases, hopper, launch, problems
from genesisd.kernels.tq_verify.guards import Setting
from genesisd.kernels.tq_verify.reference import reference

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
HEADS, KV_HEADS, DIM = 4, 2, 64


def route(sequences=4, query_len=3, *, warm=True, dtype=torch.bfloat16):
    """The way of layers that verify two drafts; warm, unless compiling is what is looked at: it takes a while here."""
    layout = K8V4(DIM)
    strides = (16 * KV_HEADS * layout.slot_bytes, KV_HEADS * layout.slot_bytes, layout.slot_bytes)
    setting = Setting(layout, 16, HEADS, KV_HEADS, query_len, (9, 0), "e4nv", strides)
    one = Route(Fp8Keys(setting), sequences, dtype, torch.device("cpu"))
    if warm:
        one._warm_up = lambda *_: None
    return one


def step(lengths, new, seed=1, dtype=torch.bfloat16):
    """A batch, its metadata as the backend has it, and what is right."""
    case = cases.Case("x", HEADS, KV_HEADS, DIM, lengths, new)
    problem = problems.make(case, "cpu", seed=seed, dtype=dtype)
    query, cache, table, lens, starts = problem.arguments()
    metadata = types.SimpleNamespace(
        seq_lens=lens, query_start_loc=starts, block_table=table, max_query_len=max(new, default=1)
    )
    return (query, cache, metadata, problem.scale), reference(*problem.arguments(), scale=problem.scale)


@pytest.mark.parametrize(
    ("lengths", "new"),
    [((70, 33, 5), (3, 3, 3)), ((70, 33, 5), (1, 1, 1)), ((70, 33, 5), (2, 1, 3)), ((70,), (2,)), ((9,) * 6, (3,) * 6)],
    ids=["drafts", "decoded", "drafts of any number", "fewer drafts", "more sequences than were foreseen"],
)
def test_a_batch_gets_its_attention(lengths, new):
    """Whatever the numbers of drafts are, within what was foreseen or not."""
    arguments, right = step(lengths, new)
    assert problems.error(route().attend(*arguments), right) < cases.TOLERANCE


def test_float16_is_served_too():
    """From memory that was taken as such."""
    arguments, right = step((70, 33, 5), (3, 3, 3), dtype=torch.float16)
    got = route(dtype=torch.float16).attend(*arguments)
    assert got.dtype is torch.float16
    assert problems.error(got, right) < cases.TOLERANCE


def test_what_is_held_is_told():
    """So that the log can say what the kernel takes of the card."""
    one = route(sequences=2)
    assert one.reserved == sum(part.nbytes for part in scratch._POOLS[torch.device("cpu")].values())


def test_layers_share_one_scratch():
    """A second group of layers reserves nothing where the first one's memory is large enough."""
    route()
    held = dict(scratch._POOLS[torch.device("cpu")])
    route()
    assert all(held[name] is one for name, one in scratch._POOLS[torch.device("cpu")].items())


def test_memory_that_a_graph_may_hold_is_never_given_back():
    """A larger group of layers takes new memory, and the old one stays where it was."""
    route(sequences=1)
    held = dict(scratch._POOLS[torch.device("cpu")])
    route(sequences=64)
    kept = [*scratch._OUTGROWN, *scratch._POOLS[torch.device("cpu")].values()]
    assert all(any(one is other for other in kept) for one in held.values())


def test_rows_of_padding_are_numbers():
    """Behind the last query token a captured batch has rows that no kernel writes: they never hold what is none."""
    (query, cache, metadata, scale), _ = step((70, 33), (3, 3))
    padded = torch.cat([query, query[:2]])
    for _ in range(2):
        assert torch.isfinite(route().attend(padded, cache, metadata, scale).float()).all()


def test_a_cache_that_lies_otherwise_is_refused():
    """What the layout did not tell is seen at the tensor itself, before the first request."""
    (query, cache, metadata, scale), _ = step((70,), (3,))
    odd = torch.zeros(*cache.shape[:3], cache.shape[3] + 1, dtype=torch.uint8)[..., :-1]
    with pytest.raises(RuntimeError, match="multiples of 4"):
        route(warm=False).attend(query, odd, metadata, scale)


def by_heads(pages, page, heads, _dim, _kind):
    return (pages, heads, page, 388)


def by_tokens(pages, page, heads, _dim, _kind):
    return (pages, page, heads, 388)


def abstract(*_):
    raise NotImplementedError


@pytest.mark.parametrize(
    ("shape", "heads_first"), [(by_heads, True), (by_tokens, False), (abstract, False), (None, False)]
)
def test_how_the_cache_will_lie_is_foreseen(shape, heads_first):
    """By the backend's own word where it has one, so that the kernel is tried on a cache like the one to come."""
    told = types.SimpleNamespace() if shape is None else types.SimpleNamespace(get_kv_cache_shape=shape)
    assert turboquant._heads_first(types.SimpleNamespace(TurboQuantAttentionBackend=told)) is heads_first


def test_a_kernel_that_is_wrong_for_the_cache_as_it_lies_is_refused(monkeypatch):
    """By then the engine counts on it, so it does not start; the message says what to do."""
    monkeypatch.setattr(trial, "refuted", lambda *_: "it answers wrong here")
    (query, cache, metadata, scale), _ = step((70,), (3,))
    with pytest.raises(RuntimeError, match="P67: it answers wrong here; switch it off"):
        route(sequences=1, warm=False).attend(query, cache, metadata, scale)


def test_a_form_that_is_left_out_for_the_cache_as_it_lies_serves_no_more(monkeypatch):
    """What was planned before had it still."""
    monkeypatch.setattr(trial, "_TRIED", {})
    monkeypatch.setattr(hopper, "_LEFT_OUT", {})

    def shape_of(*given):
        found = launch.shape_of(*given)
        return dataclasses.replace(found, head_dim=128, warp_groups=None not in hopper._LEFT_OUT)

    def tq_verify(*given, scale, fp8_format, plan, out, **_):
        right = reference(*given, scale=scale, fp8_format=fp8_format)
        return out.copy_(right * (plan.form != "warp-group"))

    fake = types.SimpleNamespace(**vars(launch) | {"shape_of": shape_of, "tq_verify": tq_verify})
    monkeypatch.setattr(fp8_keys, "launching", lambda: fake)
    arguments, right = step((70, 33), (3, 3))
    one = route(sequences=2, warm=False)
    assert {plan.form for plan in one._plans.values()} == {"warp-group"}
    assert problems.error(one.attend(*arguments), right) < cases.TOLERANCE


def test_it_is_warm_once_it_ran():
    """Both cuts of every batch were launched by then, so that no request waits for a compiler."""
    arguments, _ = step((5,), (1,))
    one = route(sequences=2, warm=False)
    assert not one.is_warm
    launched = set()
    real = one._launch
    one._launch = types.SimpleNamespace(**vars(real) | {"tq_verify": spy(real.tq_verify, launched)})
    one.attend(*arguments)
    assert one.is_warm
    assert launched == {(tokens, plan) for (_, tokens, *_), plan in one._plans.items()}


@pytest.mark.parametrize(("first", "second", "kinds"), [(8, 16, 2), (16, 32, 1), (8, 12, 1)])
def test_a_table_that_is_compiled_for_otherwise_is_warmed_for_again(first, second, kinds):
    """The engine's own table may be wider than was thought, and then another kernel is launched."""
    one = route(sequences=1, query_len=1, warm=False)
    one._idle = lambda *_: None
    (query, cache, _, _), _ = step((5,), (1,))
    for width in (first, second):
        one._warm_up(query, cache, torch.zeros(1, width, dtype=torch.int32))
    assert len(one._warm) == kinds


def spy(real, launched):
    """The launch, with a note of how it was cut."""

    def launch(*arguments, **options):
        launched.add((options["max_query_len"], options["plan"]))
        return real(*arguments, **options)

    return launch


def test_scratch_of_other_numbers_is_not_taken():
    """Memory that was reserved as other numbers is no scratch."""
    device = torch.device("cpu")
    scratch.reserve(device, {"x": (4, torch.float32)})
    assert scratch.take(device, "x", (2, 2), torch.float16) is None
    assert scratch.take(device, "x", (5,), torch.float32) is None
    assert scratch.take(device, "x", (2, 2), torch.float32).shape == (2, 2)


def test_a_setting_tells_layers_apart():
    """Two layers of one shape are one setting."""
    one = route().setting
    assert {one, dataclasses.replace(one)} == {one}


@pytest.mark.parametrize("begin", [1, 4], ids=["at any place", "at a word"])
def test_a_query_that_begins_elsewhere_is_served_by_what_was_tried(begin):
    """Its address chooses the form, and the trial's queries begin where memory does: others are copied there."""
    (query, *rest), right = step((70, 33, 5), (3, 3, 3))
    wide = torch.zeros(query.numel() + begin, dtype=query.dtype)
    odd = wide[begin:].view(query.shape).copy_(query)
    one, launched = route(), []
    real = one._launch.tq_verify
    one._launch = types.SimpleNamespace(
        **vars(one._launch)
        | {"tq_verify": lambda *given, **options: launched.append(given[0]) or real(*given, **options)}
    )
    assert problems.error(one.attend(odd, *rest), right) < cases.TOLERANCE
    assert [taken.data_ptr() % 16 for taken in launched] == [0]
