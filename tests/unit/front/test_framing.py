import pytest

from genesisd.front.framing import AnswerFramer, FramingError, HeadTooLargeError, RequestFramer

GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n{\n}\n"
CHUNKED = b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na\nb\r\n1;x=y\r\n\n\r\n0\r\nTrailer: 1\r\n\r\n"
H2C = b"Connection: Upgrade\r\nUpgrade: h2c\r\n"
UPGRADE_POST = POST.replace(b"Host: x\r\n", b"Host: x\r\n" + H2C)
UPGRADE_CHUNKED = CHUNKED.replace(b"Host: x\r\n", b"Host: x\r\n" + H2C)
WEBSOCKET = b"GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
EMPTY_POST = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"

WHOLE = {
    "get": GET,
    "post": POST,
    "chunked": CHUNKED,
    "upgrade-post": UPGRADE_POST,
    "upgrade-chunked": UPGRADE_CHUNKED,
    "websocket": WEBSOCKET,
    "empty-post": EMPTY_POST,
}


def run(pieces):
    """Feed pieces; returns how many bytes the first request took."""
    framer, taken = RequestFramer(), 0
    for piece in pieces:
        pos = 0
        while pos < len(piece) and not framer.done:
            stop = framer.feed(piece, pos)
            assert stop > pos
            pos = stop
        taken += pos
    return framer, taken


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("tail", [b"", GET, b"\x00garbage"])
def test_request_ends_at_its_last_byte(name, tail):
    """Whatever follows a request is not taken for a part of it, nor looked at."""
    framer, taken = run([WHOLE[name] + tail])
    assert framer.done
    assert taken == len(WHOLE[name])


@pytest.mark.parametrize("name", WHOLE)
def test_request_cut_anywhere(name):
    """The end is found wherever the network splits the bytes."""
    whole = WHOLE[name] + GET
    for cut in range(1, len(whole)):
        framer, taken = run([whole[:cut], whole[cut:]])
        assert (framer.done, taken) == (True, len(WHOLE[name]))
    framer, taken = run([bytes([byte]) for byte in whole])
    assert (framer.done, taken) == (True, len(WHOLE[name]))


@pytest.mark.parametrize("name", WHOLE)
def test_request_is_not_done_early(name):
    """One byte less is not the whole request."""
    framer, _ = run([WHOLE[name][:-1]])
    assert not framer.done


@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -4\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
        b"GET / HTTP/1.1\r\nbad header\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\nHost: x\n\n",
    ],
)
def test_malformed(raw):
    """What is not exactly HTTP/1.1 is refused: two readings of one request are how requests get smuggled."""
    with pytest.raises(FramingError):
        run([raw])


def test_head_is_bounded():
    """A head without an end does not grow without an end."""
    with pytest.raises(HeadTooLargeError):
        run([b"GET / HTTP/1.1\r\n" + b"x: " + b"y" * (70 << 10)])


def answered(raw, *, head=False, step=None):
    framer = AnswerFramer(head=head)
    for at in range(0, len(raw), step or len(raw)):
        framer.feed(raw[at : at + (step or len(raw))])
    return framer


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


@pytest.mark.parametrize("step", [None, 1, 3])
@pytest.mark.parametrize(
    "raw",
    [
        OK,
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nTrailer: 1\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK,
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK,
    ],
)
def test_answer_is_complete(raw, step):
    """Length, chunks with trailers, no body, and interim answers before the final one."""
    framer = answered(raw, step=step)
    assert (framer.done, framer.keep_alive, framer.surplus, framer.until_eof) == (True, True, False, False)


def test_interim_answer_is_no_answer():
    """100 Continue leaves the request unanswered."""
    framer = answered(b"HTTP/1.1 100 Continue\r\n\r\n")
    assert (framer.started, framer.done) == (False, False)


def test_answer_to_head_has_no_body():
    """The length in the answer to a HEAD is of a body that does not come."""
    framer = answered(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", head=True)
    assert (framer.done, framer.keep_alive) == (True, True)
    assert not answered(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", head=True).keep_alive
    assert not answered(b"HTTP/1.0 200 OK\r\n\r\n", head=True).keep_alive


def test_answer_until_eof():
    """Without length and chunks only the connection's end is the end."""
    framer = answered(b"HTTP/1.1 200 OK\r\n\r\nhello")
    assert (framer.done, framer.until_eof, framer.keep_alive) == (False, True, False)


def test_no_second_reading_of_connection_close():
    """An answer that ends its connection is complete, and nothing may follow on it."""
    raw = OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    assert (answered(raw).done, answered(raw).keep_alive, answered(raw + OK).surplus) == (True, False, True)


def test_surplus_is_seen():
    """Bytes behind a complete answer belong to nobody."""
    assert answered(OK + OK).surplus
    assert answered(OK + b"garbage").surplus


def test_switching_protocols():
    """101 ends HTTP on the connection."""
    assert answered(
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n\x81"
    ).upgraded


def test_garbage_is_no_answer():
    """Bytes that are not HTTP raise."""
    with pytest.raises(FramingError):
        answered(b"hello\r\n\r\n")
