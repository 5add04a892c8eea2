"""genesisd under a real systemd, as the unprivileged user that it is installed for."""

from __future__ import annotations

import json

import pytest


def test_start_returns_when_the_daemon_can_be_controlled(service):
    """Right after the start job, the control socket answers and the daemon is not root."""
    service.guest.run("systemctl", "start", "genesisd")
    service.guest.run("genesisctl", "version")
    assert service.guest.show("ActiveState") == "active"
    assert service.guest.run("ps", "-o", "user=", "-p", str(service.main_pid)).strip() == "genesisd"
    service.answers("one")


def test_a_refused_configuration_fails_the_start(service):
    """A start with an unknown field fails, and the journal names it."""
    service.guest.write("/etc/genesisd/genesisd.yaml", "workerz: {}\n")
    done = service.guest.attempt("systemctl", "start", "genesisd", timeout=120)
    assert done.returncode != 0
    assert "workerz" in service.guest.journal()
    # Not tried again each second: it would not help, and would bury the message.
    assert (service.guest.show("ActiveState"), service.guest.show("ExecMainStatus")) == ("failed", "78")
    assert service.guest.show("NRestarts") == "0"


def test_restart_leaves_the_workers_alone(service):
    """After restart a new daemon runs, and the workers have their pids, their /tmp and their /dev/shm."""
    service.start()
    engines, files, daemon = service.engines(), service.files(), service.main_pid
    service.guest.run("runuser", "-u", "genesisd", "--", "touch", "/tmp/kept")
    assert engines
    assert files
    service.guest.run("systemctl", "restart", "genesisd")
    assert service.main_pid != daemon
    assert service.engines() == engines
    assert service.files() == files
    for pid in engines:
        service.guest.run("ls", f"/proc/{pid}/root/tmp/kept")
    assert adopted(service) == 1
    service.answers("one")


@pytest.mark.parametrize("verb", ["try-restart", "reload-or-restart"])
def test_other_restarts_leave_the_workers_alone(service, verb):
    """The variants of restart that systemctl has do as restart does."""
    service.start()
    engines = service.engines()
    service.guest.run("systemctl", verb, "genesisd")
    assert service.engines() == engines
    service.answers("one")


def test_reload_takes_up_a_new_worker(service):
    """Reload starts what was added and does not touch what was not."""
    service.start()
    engines = service.engines()
    service.configure("one", "two")
    service.guest.run("systemctl", "reload", "genesisd")
    service.answers("one", "two")
    assert engines.items() <= service.engines().items()


def test_a_refused_reload_says_so_and_changes_nothing(service):
    """Reload fails on a bad file; the daemon and its worker go on."""
    service.start()
    engines, daemon = service.engines(), service.main_pid
    service.guest.write("/etc/genesisd/genesisd.yaml", "workerz: {}\n")
    assert service.guest.attempt("systemctl", "reload", "genesisd").returncode != 0
    assert "workerz" in service.guest.journal()
    assert (service.main_pid, service.engines()) == (daemon, engines)
    service.answers("one")


def test_stop_drains_and_leaves_nothing(service):
    """After stop there is no process, no shared memory and no runtime folder."""
    service.start()
    assert service.engines()
    service.guest.run("systemctl", "stop", "genesisd", timeout=120)
    assert service.guest.show("Result") == "success"
    assert service.guest.attempt("ps", "-u", "genesisd", "-o", "pid=,args=").stdout == ""
    assert service.files() == []
    assert service.guest.attempt("ls", "/run/genesisd").returncode != 0


def test_the_watchdog_ends_a_wedged_daemon(service):
    """A stopped daemon is aborted by systemd, another one starts and adopts the workers."""
    service.start()
    engines, daemon = service.engines(), service.main_pid
    service.guest.run("kill", "-STOP", str(daemon))
    service.restarted(daemon)
    assert "watchdog" in service.guest.journal().lower()
    assert service.engines() == engines
    assert adopted(service) == 1
    service.answers("one")


def test_a_killed_daemon_comes_back_and_adopts(service):
    """After kill -9 another daemon runs with the same workers."""
    service.start()
    engines, daemon = service.engines(), service.main_pid
    service.guest.run("kill", "-KILL", str(daemon))
    service.restarted(daemon)
    assert service.engines() == engines
    assert adopted(service) == 1
    service.answers("one")


def adopted(service) -> int:
    """The incarnation of the worker, once the daemon calls it ready: a respawn would have raised it."""
    service.guest.eventually("genesisctl", "workers", "list", "--json", said='"ready"')
    (worker,) = json.loads(service.guest.run("genesisctl", "workers", "list", "--json"))["workers"]
    return worker["incarnation"]
