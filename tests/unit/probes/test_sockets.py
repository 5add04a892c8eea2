import pytest

from genesisd.probes.sockets import Listening, _takes, parse

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
TABLE = HEAD + (
    "   0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 111 1 x 100 0 0 10 0\n"
    "   1: 0100007F:1F40 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 112 1 x 100 0 0 10 0\n"
    "   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 113 1 x 100 0 0 10 0\n"
)
TABLE6 = HEAD + (
    "   0: 00000000000000000000000001000000:1F40 0:0 0A 0:0 00:0 0 0 0 114 1 x\n"
    "   1: 0000000000000000FFFF00000100007F:1F40 0:0 0A 0:0 00:0 0 0 0 115 1 x\n"
    "   2: 00000000000000000000000000000000:1F40 0:0 0A 0:0 00:0 0 0 0 116 1 x\n"
)


def test_reads_listeners_only() -> None:
    """Connections are left out; addresses come out of the kernel's byte order."""
    assert parse(TABLE) == [Listening("127.0.0.1", 8000, 1000, 111), Listening("0.0.0.0", 22, 0, 113)]


def test_reads_ipv6() -> None:
    """Loopback, a mapped IPv4 address, and the wildcard."""
    assert [one.address for one in parse(TABLE6)] == ["::1", "127.0.0.1", "::"]


@pytest.mark.parametrize("table", ["", HEAD, HEAD + "garbage\n", HEAD + "\n\n"])
def test_reads_nothing_from_nothing(table: str) -> None:
    """Short or odd lines are no listeners."""
    assert parse(table) == []


@pytest.mark.parametrize(
    ("bound", "host", "takes"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("0.0.0.0", "127.0.0.1", True),
        ("::", "127.0.0.1", True),
        ("127.0.0.2", "127.0.0.1", False),
        ("10.0.0.1", "0.0.0.0", True),
        ("::1", "127.0.0.1", False),
    ],
)
def test_who_may_take_a_connection(bound: str, host: str, takes: bool) -> None:
    """The same address or a wildcard on either side; another address on the same port is no rival."""
    assert _takes(bound, host) is takes
