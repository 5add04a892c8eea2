import json

import pytest

from genesisd.probes.completion import Answer, request


def chunk(finish: str | None = None, **more: object) -> bytes:
    return b"data: " + json.dumps({"choices": [{"text": "x", "finish_reason": finish}], **more}).encode() + b"\n"


def read(*lines: bytes) -> Answer:
    answer = Answer()
    for at, line in enumerate(lines):
        answer.take(line, float(at))
    return answer


def test_counts_by_the_servers_usage() -> None:
    """Usage has the word: one chunk may hold several tokens."""
    answer = read(
        chunk(), chunk("stop"), b'data: {"choices": [], "usage": {"completion_tokens": 7}}\n', b"data: [DONE]\n"
    )
    assert (answer.tokens, answer.chunks, answer.finish, answer.done) == (7, 2, "stop", True)


def test_counts_chunks_without_usage() -> None:
    """A server that sends no usage is counted by its chunks."""
    assert read(chunk(), chunk(), chunk("length")).tokens == 3


@pytest.mark.parametrize(
    "line",
    [
        b'data: {"error": {"message": "boom", "code": 500}}',
        b'data: {"object": "error", "message": "boom"}',
        b'data: {"error": "boom"}',
    ],
)
def test_an_error_as_a_chunk_is_seen(line: bytes) -> None:
    """Both forms of an error object, in mid-stream."""
    answer = read(chunk(), line)
    assert answer.error == "boom"
    assert answer.finish is None


def test_comments_and_blank_lines_are_skipped() -> None:
    """Keep-alive comments are no chunks."""
    assert read(b": ping\n", b"\n", b"event: x\n").chunks == 0


@pytest.mark.parametrize("line", [b"data: {", b"data: [1]", b"data: 5"])
def test_what_is_no_chunk_is_an_error(line: bytes) -> None:
    """Garbage raises ValueError, which the probe takes for a failure."""
    with pytest.raises(ValueError):
        read(line)


def test_a_request_is_small_and_greedy() -> None:
    """min_tokens is asked for only where more than one token is needed."""
    assert "min_tokens" not in request("m", "p", 4, 1)
    assert request("m", "p", 4, 2)["min_tokens"] == 2
    assert request("m", "p", 4)["temperature"] == 0
