"""T12, T14 and T16: slow starts, names by the thousand, and logs that flood or vanish."""

from __future__ import annotations

import contextlib
import json
import stat
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from genesisd.control.client import ControlError
from tests.helpers.box import FAKE, free_port, held_back, until

QUICK = {"stop": {"drain": "1s", "grace": "1s"}}
JUNK = 10_000


def spec(*flags: str, **fields) -> dict:
    return {"command": [*FAKE, *flags], **QUICK, **fields}


@pytest.mark.parametrize("sign", [("--boot-log-every", "0.2"), ("--boot-burn",)], ids=["log", "cpu"])
def test_t12_a_start_that_makes_progress_may_take_its_time(box, sign):
    """T12: it takes several deadlines and is ready in its first life."""
    # A fake that stands still for a deadline is given up rightly, so a deadline is longer than a core may be taken away.
    one = box({"w": spec("--boot-seconds", "20", *sign, start={"deadline": "8s", "cap": "600s"})})
    found = one.wait("w", "ready", seconds=120)
    assert (found["incarnation"], found["restarts"]["in_window"]) == (1, 0)


@pytest.mark.parametrize(
    ("sign", "start"),
    [((), {"deadline": "1s", "cap": "600s"}), (("--boot-log-every", "0.1"), {"deadline": "1s", "cap": "3s"})],
    ids=["still", "for-ever"],
)
def test_t12_a_start_without_progress_or_end_fails(box, sign, start):
    """T12: nothing moves, and it is given up at its deadline; all moves and nothing comes, and the cap ends it."""
    one = box({"w": spec("--hang-at-boot", *sign, start=start, restart={"budget": 1})})
    found = one.wait("w", "failed", seconds=60)
    assert (found["reason"]["code"], found["incarnation"]) == ("budget-spent", 2)
    events = one.ask("events", 0.0, follow=False, worker="w")
    assert "did not answer before its start deadline" in json.dumps(events)


def test_t14_names_make_no_series(box):
    """T14: thousands of unknown workers and models leave the series as they were; a removed worker's go."""
    metrics, port = free_port(), free_port()
    workers = {"w": spec(listen=f"127.0.0.1:{port}"), "gone": spec("--bare")}
    one = box(workers, metrics={"listen": f"127.0.0.1:{metrics}"})
    for name in workers:
        one.wait(name, "ready")
    before = until(lambda: _settled(metrics))
    assert any('"gone"' in name for name in before)
    with one.client() as client:
        for number in range(JUNK):
            with pytest.raises(ControlError):
                client.worker(f"junk{number}")
    for number in range(300):
        with contextlib.suppress(urllib.error.HTTPError):
            _post(f"http://127.0.0.1:{port}/junk{number}", {"model": f"junk{number}"})
            pytest.fail("the engine knows no such path")
    grown = {name for name in _series(metrics) - before if "junk" in name}
    assert grown == set()
    assert len(_series(metrics) - before) < 50  # what was 0 and unseen, such as an answer of status 404
    del one.settings["workers"]["gone"]
    one.write()
    one.ask("reload")
    until(lambda: not any('"gone"' in name for name in _series(metrics)))
    assert any('"w"' in name for name in _series(metrics))


def _series(port: int) -> set[str]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        return {line.rsplit(" ", 1)[0] for line in answer.read().decode().splitlines() if not line.startswith("#")}


def _settled(port: int) -> set[str]:
    """The series, once two looks find the same."""
    first = _series(port)
    return first if first == _series(port) else set()


def _post(url: str, body: dict) -> None:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30):
        pass


def test_t14_the_socket_is_the_groups_and_a_stale_one_is_replaced(box):
    """T14: mode 0660, and what a killed daemon left behind does not keep the next one out."""
    one = box({"w": spec("--bare")})
    one.wait("w", "ready")
    assert stat.S_IMODE(one.socket.stat().st_mode) == 0o660
    one.kill()
    assert one.socket.exists()
    one.start()
    assert stat.S_IMODE(one.socket.stat().st_mode) == 0o660
    assert one.wait("w", "ready")["incarnation"] == 1


def test_t16_a_flood_of_log(box):
    """T16: 100 MB in one go; files stay within their bounds, control answers meanwhile, and the worker is well."""
    log = {"max_bytes": 4 << 20, "keep": 2}
    one = box({"w": spec("--log-flood", str(100 << 20), log=log)})
    answers = 0
    while not any("end of flood" in _end(path) for path in _logs(one)):
        answers += one.worker("w")["incarnation"]
    assert answers
    found = one.wait("w", "ready")
    assert (found["incarnation"], found["restarts"]["in_window"]) == (1, 0)
    sizes = [path.stat().st_size for path in _logs(one)]
    assert len(sizes) == 3
    assert max(sizes) <= 4 << 20


@pytest.mark.parametrize("act", [Path.unlink, lambda path: path.rename(path.with_name("moved"))], ids=["rm", "mv"])
def test_t16_a_log_that_somebody_took_away(box, tmp_path, act):
    """T16: it is begun anew, and the worker does not notice."""
    gate = tmp_path / "gate"
    gate.touch()
    one = box({"w": spec(command=held_back(gate))})
    (log,) = until(lambda: [path for path in _logs(one) if "begun" in path.read_text()])
    act(log)
    gate.unlink()
    found = one.wait("w", "ready")
    assert (found["incarnation"], found["restarts"]["in_window"]) == (1, 0)
    until(lambda: log.exists() and "startup complete" in log.read_text())


def _logs(one) -> list[Path]:
    return list(one.state.glob("**/worker.log*"))


def _end(path: Path) -> str:
    with contextlib.suppress(FileNotFoundError):  # it has just been rotated
        return path.read_bytes()[-400:].decode()
    return ""
