"""What stands against a spawn, and what it says."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from genesisd.errors import UnavailableError
from genesisd.store.store import Store
from genesisd.supervisor.model import Phase, Reason, WorkerState
from genesisd.supervisor.ports import Card
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring import gates
from genesisd.wiring.fronts import FrontAdapter
from genesisd.wiring.quarantine import Quarantine
from tests.fakes.supervision import FakeCards, FakeClock, FakeRunner, FakeSink, Log
from tests.fakes.wiring import FakeFronts

GIB = 1 << 30


def spec(**fields):
    return WorkerSpec(command=("vllm",), **fields)


def gate(*answers):
    asked = []

    async def check(worker):
        asked.append(worker)
        return answers[len(asked) - 1]

    check.asked = asked
    return check


async def test_the_first_shut_gate_is_the_answer_and_the_rest_are_not_asked():
    """A build is not begun for a worker whose dependency is down."""
    open_, shut, never = gate(None), gate(Reason("a", "shut")), gate()
    assert await gates.OrderedGates([open_, shut, never]).check("w") == Reason("a", "shut")
    assert (open_.asked, never.asked) == (["w"], [])


async def test_no_gate_and_open_gates_let_through():
    """None means go."""
    assert await gates.OrderedGates([]).check("w") is None
    assert await gates.OrderedGates([gate(None), gate(None)]).check("w") is None


async def test_a_tree_that_is_left_shuts():
    """By pid, and by the first eight of many."""
    runner = FakeRunner(Log(), FakeClock())
    check = gates.tree_gate(runner)
    assert await check("w") is None
    runner.left["w"] = [12, 7]
    assert "still there: 7, 12" in (await check("w")).text
    runner.left["w"] = list(range(30))
    assert (await check("w")).text.endswith("6, 7 and more")


@pytest.mark.parametrize(
    ("fields", "phase", "wanted", "shut"),
    [
        ({"after": ("a",)}, Phase.READY, True, False),
        ({"after": ("a",)}, Phase.WARMING, True, True),
        ({"after": ("a",)}, Phase.STOPPED, False, False),
        ({"requires": ("a",)}, Phase.STOPPED, False, True),
        ({"requires": ("a",)}, Phase.DEGRADED, True, True),
        ({"requires": ("a",)}, Phase.READY, True, False),
        ({"requires": ("gone",)}, Phase.READY, True, False),
    ],
)
async def test_dependencies(fields, phase, wanted, shut):
    """``after`` waits for the wanted only, ``requires`` for all; the unknown hold nobody up."""
    states = {"a": WorkerState(phase=phase, wanted=wanted)}
    check = gates.dependency_gate(lambda: {"w": spec(**fields)}, lambda: states)
    found = await check("w")
    assert (found is not None) is shut
    assert found is None or f"waits for a, which is {phase}" == found.text


async def test_a_chosen_port_that_somebody_holds_shuts_until_it_is_free():
    """A connection in TIME_WAIT is no holder."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        check = gates.port_gate(lambda: {"w": spec(engine_port=port)})
        found = await check("w")
        with socket.create_connection(("127.0.0.1", port)) as client:
            server.accept()[0].close()
            client.recv(1)
    assert (found.code, f"127.0.0.1:{port}" in found.text) == ("port-taken", True)
    assert await check("w") is None


async def test_a_wildcard_listener_holds_every_address():
    """0.0.0.0 is also 127.0.0.1."""
    with socket.create_server(("0.0.0.0", 0)) as server:
        assert not gates.is_free("127.0.0.1", server.getsockname()[1])


async def test_a_free_choice_of_port_needs_no_gate():
    """It is tried when it is chosen."""
    assert await gates.port_gate(lambda: {"w": spec()})("w") is None


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
async def test_an_address_that_is_not_ours_is_not_called_taken(host):
    """Waiting for another process to end would never help."""
    check = gates.port_gate(lambda: {"w": spec(listen=f"{host}:8000", front={"enabled": False})})
    found = await check("w")
    assert (found.code, f"{host}:8000" in found.text) == ("port-unusable", True)


async def test_an_ipv6_address_is_tried_as_one():
    """And written with its brackets."""
    try:
        server = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("no IPv6 here")
    with server:
        port = server.getsockname()[1]
        check = gates.port_gate(lambda: {"w": spec(listen=f"[::1]:{port}", front={"enabled": False})})
        assert f"[::1]:{port} is taken" in (await check("w")).text


@pytest.mark.parametrize(
    ("listen", "enabled", "engine_port", "address"),
    [
        (None, True, None, ("127.0.0.1", None)),
        (None, False, None, ("127.0.0.1", None)),
        (None, True, 9000, ("127.0.0.1", 9000)),
        ("0.0.0.0:80", True, None, ("127.0.0.1", None)),
        ("0.0.0.0:80", True, 9000, ("127.0.0.1", 9000)),
        ("0.0.0.0:80", False, None, ("0.0.0.0", 80)),
    ],
)
def test_where_an_engine_listens(listen, enabled, engine_port, address):
    """Behind a front on the loopback, without one in public."""
    one = spec(listen=listen, front={"enabled": enabled}, engine_port=engine_port)
    assert gates.engine_address(one) == address


# --- cards ----------------------------------------------------------------------------------------------------


def card(free, index=0, **holders):
    return Card(index, 24 * GIB, int(free * GIB), {int(pid[1:]): size for pid, size in holders.items()})


async def check_cards(one, *cards):
    return await gates.card_gate(lambda: {"w": one}, FakeCards(*cards))("w")


async def test_a_free_card_opens_and_a_held_one_shuts():
    """The threshold is a share of the whole, and itself is enough."""
    assert await check_cards(spec(gpus=(0,)), card(22)) is None
    assert (await check_cards(spec(gpus=(0,)), card(21))).code == "vram-held"
    assert await check_cards(spec(gpus=(0,), vram_free=0.5), card(12)) is None


async def test_a_worker_without_cards_asks_nobody():
    """A box without a driver runs CPU workers."""

    class Broken:
        async def cards(self):
            raise AssertionError("asked")

    assert await gates.card_gate(lambda: {"w": spec()}, Broken())("w") is None


async def test_the_holder_is_named_with_pid_name_and_size():
    """So that a person can decide; it is never touched."""
    found = await check_cards(spec(gpus=(0,)), card(4.2, **{f"p{os.getpid()}": 19 * GIB, "p999999999": GIB}))
    name = Path(f"/proc/{os.getpid()}/comm").read_text().strip()
    assert f"pid {os.getpid()} ({name}, 19.0 GiB)" in found.text
    assert "pid 999999999 (gone or in another namespace, 1.0 GiB)" in found.text
    assert "GPU 0 has 4.2 of 24.0 GiB free, and 90% is asked for" in found.text


async def test_a_holder_that_the_driver_does_not_name_is_said_to_be_unnamed():
    """In a container NVML often shows no processes."""
    assert "does not name" in (await check_cards(spec(gpus=(0,)), card(1))).text


async def test_a_card_in_quarantine_opens_again_for_the_worker_that_lost_it(tmp_path):
    """Its tree's gate stands before: what held the card is gone. Others wait until somebody is told so."""
    store = Store.open(tmp_path / "genesisd.db")
    quarantine = Quarantine(store.meta, FakeSink(), FakeClock())
    quarantine.put_card("w", 0, "lost")
    specs = {"w": spec(gpus=(0,)), "v": spec(gpus=(0, 1))}
    check = gates.quarantine_gate(lambda: specs, quarantine.card, lambda worker: quarantine.free_cards(worker, "gone"))
    assert (await check("v")).code == "card-quarantined"
    assert await check("w") is None
    assert await check("v") is None
    await quarantine.close()
    store.close()


async def test_each_card_of_a_worker_must_be_free():
    """The second one counts as the first."""
    both = spec(gpus=(0, 1))
    assert "GPU 1" in (await check_cards(both, card(24), card(3, 1))).text
    assert await check_cards(both, card(24), card(24, 1)) is None


async def test_a_card_that_is_not_there_shuts():
    """A lost card, or a driver that shows none."""
    found = await check_cards(spec(gpus=(2,)), card(24))
    assert (found.code, "no GPU 2" in found.text) == ("card-missing", True)


async def test_those_who_share_do_not_wait_for_free_memory():
    """But for the card itself."""
    sharing = spec(gpus=(0,), share_gpus=True)
    assert await check_cards(sharing, card(1)) is None
    assert (await check_cards(sharing)).code == "card-missing"


async def test_a_public_address_that_is_taken_shuts():
    """A worker that nobody can reach need not start; the front's own words are the reason."""
    fronts = FakeFronts()
    check = gates.front_gate(lambda: {"w": spec(listen="127.0.0.1:80")}, FrontAdapter(fronts))
    assert await check("w") is None
    fronts.taken.add("127.0.0.1:80")
    assert await check("w") == Reason("listen-taken", "127.0.0.1:80 is taken by pid 7")


async def test_a_front_at_an_address_that_is_its_own_no_more_makes_room():
    """Two workers that swapped their addresses: each lets go of the other's, and both start."""
    fronts = FakeFronts()
    specs = {"a": spec(listen="127.0.0.1:81"), "b": spec(listen="127.0.0.1:80")}
    adapter = FrontAdapter(fronts)
    check = gates.front_gate(lambda: specs, adapter)
    await adapter.seat("a", spec(listen="127.0.0.1:80"))
    fronts.taken.add("127.0.0.1:81")
    assert (await check("a")).code == "listen-taken"
    assert fronts.told[-1] == ("release", "a")


async def test_a_front_that_cannot_be_reached_is_not_ended():
    """It may be busy, and it is where it belongs."""
    fronts = FakeFronts()
    adapter = FrontAdapter(fronts)
    check = gates.front_gate(lambda: {"a": spec(listen="127.0.0.1:80")}, adapter)
    await adapter.seat("a", spec(listen="127.0.0.1:80"))

    async def silent(*arguments):
        raise UnavailableError("it did not answer")

    fronts.ensure = silent
    assert (await check("a")).text == "it did not answer"
    assert ("release", "a") not in fronts.told


async def test_many_pids_are_cut_short_and_eight_are_not():
    """Eight fit."""
    runner = FakeRunner(Log(), FakeClock())
    runner.left["w"] = list(range(8))
    assert (await gates.tree_gate(runner)("w")).text.endswith("5, 6, 7")
