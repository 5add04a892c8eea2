"""Noticing settings that changed while no daemon ran."""

from __future__ import annotations

import pytest

from genesisd.store.meta import StoreReadError
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.fingerprints import Fingerprints, fingerprint

BASE = {"pin": "p", "model": "m"}


class Meta:
    """The store's small facts in memory."""

    def __init__(self):
        self.facts = {}
        self.broken = False

    async def get(self, key, default=None):
        self._raise()
        return self.facts.get(key, default)

    async def set(self, key, value):
        self._raise()
        self.facts[key] = value

    def _raise(self):
        if self.broken:
            raise StoreReadError("the disk does not answer")


class Box:
    def __init__(self):
        self.meta, self.specs = Meta(), {"w": WorkerSpec(**BASE)}
        self.prints = Fingerprints(self.meta, lambda: self.specs)

    async def spawned(self):
        self.prints.spawned("w")
        await self.prints.close()


@pytest.fixture
def box():
    return Box()


@pytest.mark.parametrize(
    "change",
    [
        {"model": "n"},
        {"pin": "q"},
        {"args": ("--seed", "1")},
        {"env": {"A": "1"}},
        {"gpus": (0,)},
        {"listen": "127.0.0.1:80"},
        {"engine_port": 9000},
        {"front": {"enabled": False}},
        {"cwd": "/srv"},
        {"served_model_name": "x"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_a_process_was_started_with_is_in_it(change):
    """A change needs a new incarnation."""
    assert fingerprint(WorkerSpec(**BASE)) != fingerprint(WorkerSpec(**{**BASE, **change}))


@pytest.mark.parametrize(
    "change",
    [
        {"front": {"hold": "1s"}},
        {"stop": {"drain": "1s"}},
        {"restart": {"budget": 1}},
        {"probes": {}},
        {"autostart": False},
        {"after": ("a",)},
        {"log": {"keep": 1}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_takes_effect_while_it_runs_is_not_in_it(change):
    """No worker is restarted for its hold time."""
    assert fingerprint(WorkerSpec(**BASE)) == fingerprint(WorkerSpec(**{**BASE, **change}))


def test_the_order_of_the_environment_does_not_count():
    """Nor how the file writes it."""
    one, two = ({"A": "1", "B": "2"}, {"B": "2", "A": "1"})
    assert fingerprint(WorkerSpec(**BASE, env=one)) == fingerprint(WorkerSpec(**BASE, env=two))


async def test_an_unchanged_worker_is_unchanged(box):
    """Adopted, and left alone."""
    await box.spawned()
    assert not await box.prints.changed("w")


async def test_a_changed_worker_is_noticed_until_it_was_spawned_again(box):
    """The new life has the new settings."""
    await box.spawned()
    box.specs["w"] = WorkerSpec(**{**BASE, "model": "n"})
    assert await box.prints.changed("w")
    await box.spawned()
    assert not await box.prints.changed("w")


async def test_where_nothing_is_known_nothing_has_changed(box):
    """A worker of a daemon that kept no notes serves on."""
    assert not await box.prints.changed("w")


async def test_a_store_that_does_not_answer_costs_only_the_notice(box):
    """Neither a spawn nor a start of the daemon fails for it."""
    box.meta.broken = True
    await box.spawned()
    assert not await box.prints.changed("w")
