"""What a reload means, field by field."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel

from genesisd.config import Config, DaemonSpec, Paths, changed, diff
from genesisd.config.diff import DAEMON_LIVE, LAUNCH, LIVE
from genesisd.patches.spec import PatchesSpec
from genesisd.supervisor.spec import FrontSpec, WorkerSpec

BASE = {"command": ["x"], "listen": "127.0.0.1:8000"}


def config(daemon=None, pins=None, **workers):
    paths = Paths(Path("/s"), Path("/r"), Path("/c"), Path("/r/control.sock"))
    specs = {name: WorkerSpec.model_validate({**BASE, **spec}) for name, spec in workers.items()}
    return Config(Path("/f"), DaemonSpec.model_validate(daemon or {}), paths, pins, specs)


def test_a_role_restarts_where_the_policy_drops_by_it_and_a_note_never_does():
    """What a policy leaves in is part of the start; why somebody wants it is not."""

    def of(policy, role, note="x"):
        return {"patches": {"policy": policy, "attribution": {"P62": {"role": role, "note": note}}}}

    def restarts(one, other):
        return diff(config(a=one), config(a=other)).changed["a"].restart

    assert restarts(of("safe", "defensive"), of("safe", "no_op"))
    assert not restarts(of("compat", "defensive"), of("compat", "no_op"))
    assert not restarts(of("safe", "defensive"), of("safe", "defensive", "another note"))


def test_every_field_of_a_worker_has_its_place():
    """A new field must say whether it needs a restart."""
    parts = {"front": FrontSpec, "patches": PatchesSpec}
    fields = {name for name in WorkerSpec.model_fields if name not in parts}
    fields |= {f"{part}.{name}" for part, spec in parts.items() for name in spec.model_fields}
    assert fields == LAUNCH | LIVE
    assert not LAUNCH & LIVE


def test_the_live_fields_of_the_daemon_exist():
    """A renamed field must not silently become one that needs a restart."""
    for name in DAEMON_LIVE:
        model: object = DaemonSpec()
        for part in name.split("."):
            assert isinstance(model, BaseModel)
            model = getattr(model, part)


def test_the_same_is_empty():
    """A reload of an unchanged file touches nothing."""
    one = config(a={}, b={})
    assert diff(one, config(a={}, b={})).empty


def test_order_alone_is_no_change():
    """Moving a worker within the file restarts nobody."""
    assert diff(config(a={}, b={}), config(b={}, a={})).empty


def test_added_and_removed():
    """Names, in the order of the files."""
    found = diff(config(a={}, b={}), config(b={}, d={}, c={}))
    assert (found.added, found.removed, found.changed) == (("d", "c"), ("a",), {})
    assert not found.empty


@pytest.mark.parametrize(
    ("new", "fields", "restart"),
    [
        ({"args": ["--x"]}, ("args",), True),
        ({"env": {"A": "1"}}, ("env",), True),
        ({"listen": "127.0.0.1:8001"}, ("listen",), True),
        ({"front": {"enabled": False}}, ("front.enabled",), True),
        ({"front": {"hold": "1s"}}, ("front.hold",), False),
        ({"front": {"hold": "1s", "enabled": False}}, ("front.enabled", "front.hold"), True),
        ({"stop": {"drain": "1s"}}, ("stop.drain",), False),
        ({"restart": {"backoff": {"max": "2m"}}}, ("restart.backoff.max",), False),
        ({"probes": {"liveness": []}}, ("probes.liveness",), False),
        ({"gpus": [1]}, ("gpus",), True),
        ({"autostart": False}, ("autostart",), False),
        ({"front": {"hold": 30}}, None, False),
        ({"patches": {"lane": "27b"}}, ("patches.lane",), True),
        ({"patches": {"attribution": {"P62": {"role": "no_op"}}}}, ("patches.attribution",), False),
    ],
)
def test_a_change_names_its_fields_and_what_it_takes(new, fields, restart):
    """Launch fields need a new incarnation, everything else is applied to the running one."""
    found = diff(config(a={}, z={}), config(a=new, z={})).changed
    if fields is None:
        assert found == {}
        return
    assert found["a"].fields == fields
    assert found["a"].restart is restart
    assert list(found) == ["a"]


def test_daemon_fields_are_told_apart():
    """The log level changes at once; a state folder waits for a daemon restart."""
    found = diff(config(), config({"log": {"level": "debug"}, "state_dir": "/x", "metrics": {"listen": "127.0.0.1:1"}}))
    assert found.daemon_live == ("daemon.log.level",)
    assert found.daemon_restart == ("daemon.state_dir", "daemon.metrics.listen")


def test_another_pins_file_is_told():
    """It may change what a pin means."""
    assert diff(config(), config(pins=Path("/p"))).pins


def test_changed_of_equal_specs_has_no_fields():
    """It can be asked for any pair."""
    spec = WorkerSpec.model_validate(BASE)
    assert changed(spec, spec).fields == ()
