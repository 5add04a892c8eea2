"""One life as its probes see it: what it was started with, and one memory of it for whoever asks."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from genesisd.probes.ports import Abilities
from genesisd.supervisor.ports import Card
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.fronts import FrontAdapter
from genesisd.wiring.goldens import Goldens
from genesisd.wiring.known import KnownCases
from genesisd.wiring.targets import Targets, abilities
from tests.fakes.supervision import FakeCards, FakeClock, FakeRunner, FakeSink, Log, life
from tests.fakes.wiring import FakeFronts


@pytest.fixture
def box(tmp_path):
    runner = FakeRunner(Log(), FakeClock())
    attestations = SimpleNamespace(attester=lambda _: None, engagement=None)
    patched = SimpleNamespace(running=lambda *_: None)
    cards = FakeCards(Card(0, 48, 8, {1: 30, 2: 5, 9: 5}, 86), Card(1, 48, 48, {}, 86))
    targets = Targets(
        runner,
        FrontAdapter(FakeFronts()),
        attestations,
        patched,
        Goldens(tmp_path),
        cards,
        FakeSink(),
        KnownCases(None),
    )
    return SimpleNamespace(targets=targets, runner=runner, sink=targets.sink)


FLAGS = ("--enable-auto-tool-choice", "--tool-call-parser=hermes", "--reasoning-parser", "qwen3", "--max-model-len=32k")


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ((), Abilities("", "", "", None, None)),
        (FLAGS, Abilities("hermes", "qwen3", "", None, 32_000)),
        (("--tool-call-parser=hermes",), Abilities("", "", "", None, None)),
        (("--no-enable-prefix-caching",), Abilities("", "", "", False, None)),
        (('--speculative-config={"method": "ngram"}',), Abilities("", "", "ngram", None, None)),
        (("--speculative-config.model=draft",), Abilities("", "", "draft", None, None)),
        (("--config=serve.yaml",), Abilities()),
    ],
)
def test_what_a_worker_can_do_is_read_from_its_flags(args, told):
    """What a file of flags says is not known; a parser that is not switched on parses nothing."""
    assert abilities(WorkerSpec(pin="p", model="m", args=args)) == told


def test_of_a_command_of_ones_own_nothing_is_known():
    """Its flags need not be vLLM's."""
    assert abilities(WorkerSpec(command=("vllm", *FLAGS))) == Abilities()


def test_whoever_asks_a_life_shares_what_was_seen_of_it(box):
    """A recording asks beside the probes; the next life has seen nothing."""
    spec = WorkerSpec(pin="p", model="m")
    first = box.targets.of(life("w", 3), spec)
    assert box.targets.of(life("w", 3), spec).seen is first.seen
    assert box.targets.of(life("w", 4), spec).seen is not first.seen
    assert box.targets.of(life("v", 3), spec).seen is not first.seen
    box.targets.forget("w")
    assert box.targets.of(life("w", 3), spec).seen is not first.seen


@pytest.mark.parametrize(("gpus", "bytes_"), [((), None), ((0,), 35), ((1,), None), ((0, 1), 35), ((7,), None)])
async def test_card_memory_is_what_the_tree_holds_on_its_own_cards(box, gpus, bytes_):
    """A stranger's share is not the worker's growth; where the driver names nobody, nothing is known."""
    box.runner.left["w"] = [1, 2, 3]
    target = box.targets.of(life("w", 3), WorkerSpec(pin="p", model="m", gpus=gpus))
    assert await target.card_memory() == bytes_


def test_a_worker_asks_by_its_own_book_its_models_or_the_general_one(box, tmp_path):
    """A book that broke since the configuration was read is told, and asks nothing."""
    assert box.targets.casebook("w", WorkerSpec(pin="p", model="m")).vouched is False
    assert box.targets.casebook("w", WorkerSpec(pin="p", model="demo:tiny")).vouched is True
    book = tmp_path / "book.yaml"
    book.write_text("name: mine\ndrift: some words\n")
    spec = WorkerSpec(pin="p", model="m", probes={"casebook": str(book)})
    assert box.targets.casebook("w", spec).drift == "some words"
    book.write_text("name: mine\ndrfit: some words\n")
    assert box.targets.casebook("w", spec).drift == ""
    assert "book.yaml:2" in box.sink.of("effect_failed")[0]["text"]


async def test_a_twin_knows_what_its_original_could_answer(box):
    """While another model, or another command under the same name, has shown nothing."""
    spec = WorkerSpec(pin="p", model="m")
    box.targets.of(life("w"), spec).known.right("tool-calls", "one")
    assert box.targets.of_twin(life("scratch-1"), spec, "w").known.counts("tool-calls", "one")
    assert not box.targets.of(life("w"), WorkerSpec(pin="p", model="other")).known.counts("tool-calls", "one")
    one, other = WorkerSpec(command=("serve", "a")), WorkerSpec(command=("serve", "b"))
    box.targets.of(life("w"), one).known.right("tool-calls", "one")
    assert box.targets.of(life("w"), one).known.counts("tool-calls", "one")
    assert not box.targets.of(life("w"), other).known.counts("tool-calls", "one")
    await box.targets.known.close()
