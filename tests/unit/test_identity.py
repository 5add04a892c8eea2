"""Who a process is, and that nobody else is signalled."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import pytest

from genesisd import identity


def test_our_own_process_is_known():
    """A living process has a reference that holds."""
    ref = identity.process_ref(os.getpid())
    assert ref.boot_id == identity.boot_id()
    assert identity.is_alive(ref)


def test_a_name_with_spaces_and_brackets_does_not_shift_the_fields(monkeypatch):
    """The name in /proc/PID/stat is whatever the process likes."""
    rest = " ".join(["S", "1", "7", "7", *["0"] * 13, "1", "0", "4711", "0"])
    monkeypatch.setattr(identity, "read_proc", lambda *_: f"9 (a) b (c)) S 1) {rest}\n".encode())
    monkeypatch.setattr(identity, "boot_id", lambda: "boot")
    assert identity.process_ref(9).start_ticks == 4711


@pytest.mark.parametrize(
    ("state", "threads", "dead"), [("S", 1, False), ("Z", 1, True), ("X", 0, True), ("Z", 3, False), ("T", 1, False)]
)
def test_a_corpse_is_dead_but_not_one_whose_threads_live(state, threads, dead):
    """A main thread that has ended shows as a zombie while the process runs on."""
    fields = [state, *["0"] * 16, str(threads), "0", "1"]
    assert identity.is_corpse(fields) is dead


@pytest.mark.parametrize("change", [{"start_ticks": 1}, {"boot_id": "another"}], ids=["later owner", "other boot"])
def test_nothing_is_signalled_on_a_mismatch(change):
    """The same pid with another start or another boot is a stranger."""
    heard = []
    before = signal.signal(signal.SIGUSR1, lambda *_: heard.append(1))
    try:
        stranger = replace(identity.process_ref(os.getpid()), **change)
        assert identity.signal_exactly(stranger, signal.SIGUSR1) is False
        assert identity.open_exactly(stranger) is None
        assert heard == []
        assert identity.signal_exactly(identity.process_ref(os.getpid()), signal.SIGUSR1) is True
        assert heard == [1]
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_pid_that_nobody_has_is_nobody():
    """No reference, no signal."""
    assert identity.process_ref(2**22 + 1) is None
