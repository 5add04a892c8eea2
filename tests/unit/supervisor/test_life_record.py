"""The record of a life, as whoever shows workers sees it."""

from genesisd.supervisor.runners.lives import parse_life

RAW = {
    "incarnation": 3,
    "pid": 41,
    "start_ticks": 7,
    "boot_id": "b",
    "token": "t",
    "cgroup": None,
    "note": {"host": "127.0.0.1", "port": 8000, "scratch": []},
}


def test_a_life_is_one_object():
    """Views compare by identity: a new object a look would make a whole status anew for each question."""
    record = parse_life("w1", RAW)
    assert record is not None
    assert record.life is record.life
    assert (record.life.worker, record.life.incarnation, record.life.leader.pid) == ("w1", 3, 41)
