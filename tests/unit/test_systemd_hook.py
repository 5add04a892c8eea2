from __future__ import annotations

import subprocess

import pytest

from genesisd import systemd_hook
from genesisd.errors import UnavailableError

LISTING = """\
 412 genesisd.service        stop    waiting
 413 genesisd-other.service  restart running
 414 multi-user.target       start   waiting
"""


@pytest.mark.parametrize(
    ("unit", "job"),
    [
        ("genesisd.service", "stop"),
        ("genesisd-other.service", "restart"),
        ("other.service", None),
        ("service", None),
    ],
)
def test_the_job_of_exactly_this_unit_counts(unit, job):
    """The job is looked up by the unit's whole name."""
    assert systemd_hook.pending_job(unit, LISTING) == job


@pytest.mark.parametrize("listing", ["", "No jobs running.\n", "\n\n"])
def test_no_jobs_is_no_job(listing):
    """An empty listing, in either of its forms, holds no job."""
    assert systemd_hook.pending_job("genesisd.service", listing) is None


class Daemon:
    """Stands in for the control client and remembers what was asked."""

    def __init__(self, refusal: Exception | None = None) -> None:
        self.asked: list[str] = []
        self.refusal = refusal

    def __call__(self, _socket):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def shutdown(self, *, drain):
        self.asked.append(f"shutdown drain={drain}")
        if self.refusal:
            raise self.refusal

    def reload(self):
        self.asked.append("reload")
        if self.refusal:
            raise self.refusal


@pytest.fixture
def daemon(monkeypatch):
    made = Daemon()
    monkeypatch.setattr(systemd_hook, "Client", made)
    return made


def answer(monkeypatch, job):
    def ask(_unit):
        if isinstance(job, Exception):
            raise job
        return job

    monkeypatch.setattr(systemd_hook, "ask_systemd", ask)


STOP = ["stop", "--unit", "genesisd.service", "--pid"]


def test_a_stop_drains(monkeypatch, daemon):
    """With a pending stop the daemon is asked to shut down with drain."""
    answer(monkeypatch, "stop")
    assert systemd_hook.main(STOP) == 0
    assert daemon.asked == ["shutdown drain=True"]


@pytest.mark.parametrize("job", ["restart", "try-restart", "start", None])
def test_anything_else_leaves_the_workers(monkeypatch, daemon, job, capsys):
    """With any other job, or none, nothing is asked of the daemon and the journal says why."""
    answer(monkeypatch, job)
    assert systemd_hook.main(STOP) == 0
    assert daemon.asked == []
    assert "left running" in capsys.readouterr().err


@pytest.mark.parametrize("fault", [FileNotFoundError("systemctl"), subprocess.TimeoutExpired("systemctl", 10)])
def test_a_silent_systemd_leaves_the_workers(monkeypatch, daemon, fault, capsys):
    """When systemd cannot be asked, the workers stay."""
    answer(monkeypatch, fault)
    assert systemd_hook.main(STOP) == 0
    assert daemon.asked == []
    assert "cannot ask systemd" in capsys.readouterr().err


def test_a_daemon_that_does_not_answer_fails_the_hook(monkeypatch, daemon, capsys):
    """A refused order is a failed ExecStop, so that it shows in the journal."""
    answer(monkeypatch, "stop")
    daemon.refusal = UnavailableError("nobody listens")
    assert systemd_hook.main(STOP) == 1
    assert "nobody listens" in capsys.readouterr().err


def test_a_refused_reload_is_reported_with_its_hint(daemon, capsys):
    """Reload passes the daemon's words on and fails."""
    daemon.refusal = UnavailableError("line 3: unknown field 'workerz'", hint="did you mean 'workers'?")
    assert systemd_hook.main(["reload"]) == 1
    assert capsys.readouterr().err == "line 3: unknown field 'workerz'\ndid you mean 'workers'?\n"


def test_a_reload_that_is_taken_succeeds(daemon):
    """Reload returns 0 when the daemon took the configuration."""
    assert systemd_hook.main(["reload"]) == 0
    assert daemon.asked == ["reload"]


def test_waiting_for_a_process_that_is_gone_ends_at_once():
    """A pid that nobody has is not waited for."""
    systemd_hook.wait_for(2**22 + 1)


@pytest.mark.process
def test_waiting_ends_with_the_process():
    """The hook returns when the daemon has ended."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        child.stdin.close()
        systemd_hook.wait_for(child.pid)
        assert child.wait(0) == 0
