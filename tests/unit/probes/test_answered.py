"""Answers read whole and in events, however they are cut and spelt."""

from __future__ import annotations

import json
import random

import pytest

from genesisd.probes.answered import Reading, again
from genesisd.probes.model import EXCHANGE_LIMIT, Exchange
from genesisd.probes.trouble import Trouble, trouble_of, verdict_of


def chunk(delta, finish=None, **more):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish, **more}]}


def stream(*events, done=True, status=200):
    reading = Reading()
    for event in events:
        text = event if isinstance(event, str) else json.dumps(event)
        reading.take_line(f"data: {text}".encode())
    if done:
        reading.take_line(b"data: [DONE]")
    exchange = Exchange("/v1/chat/completions", {"stream": True}, status, reading.kept)
    return reading.answered(exchange, status, stream=True)


def whole(document, status=200):
    reading = Reading()
    reading.take_whole(document if isinstance(document, bytes) else json.dumps(document).encode())
    return reading.answered(Exchange("/v1/chat/completions", {}, status, reading.kept), status, stream=False)


def test_calls_are_put_together_by_index():
    """Names in one event and arguments in many, of two calls in turn, become two calls."""
    parts = [
        (0, {"name": "a", "arguments": ""}), (1, {"name": "b"}), (0, {"arguments": '{"x"'}),
        (1, {"arguments": "{}"}), (0, {"arguments": ": 1}"}),
    ]  # fmt: skip
    said = stream(*(chunk({"tool_calls": [{"index": n, "function": f}]}) for n, f in parts), chunk({}, "tool_calls"))
    assert said.calls == (("a", '{"x": 1}'), ("b", "{}"))
    assert said.finish == "tool_calls"


def test_words_thoughts_and_counts_of_a_stream():
    """Both names of thoughts, empty choices and a chunk that only counts are understood."""
    said = stream(
        chunk({"role": "assistant", "content": ""}), chunk({"reasoning": "so "}), chunk({"reasoning_content": "be it"}),
        {"choices": []}, chunk({"content": "Yes"}), chunk({"content": "."}, "stop"),
        {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 3}}},
    )  # fmt: skip
    assert (said.content, said.reasoning, said.finish) == ("Yes.", "so be it", "stop")
    assert (said.prompt_tokens, said.completion_tokens, said.cached_tokens) == (7, 4, 3)
    assert trouble_of(said) is None


def test_a_stream_that_said_nothing_has_no_content():
    """Empty words come with the role, before anything is known."""
    assert stream(chunk({"content": ""}), chunk({}, "stop")).content is None
    assert whole({"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}).content == ""


def test_tokens_and_logprobs_of_chat_and_completion():
    """Both forms give the same tokens, with the best first."""
    top = [{"token": "b", "logprob": -2.0}, {"token": "a", "logprob": -0.5}]
    chat = {"content": [{"token": "a", "logprob": -0.5, "top_logprobs": top}]}
    plain = {"tokens": ["a"], "token_logprobs": [-0.5], "top_logprobs": [{"b": -2.0, "a": -0.5}]}
    one = whole(
        {"choices": [{"message": {"content": "a"}, "logprobs": chat, "token_ids": [3], "finish_reason": "stop"}]}
    )
    other = whole({"choices": [{"text": "a", "logprobs": plain, "token_ids": [3], "finish_reason": "stop"}]})
    assert one.tokens == other.tokens
    assert one.tokens[0].top == (("a", -0.5), ("b", -2.0))
    assert one.token_ids == other.token_ids == (3,)


def test_prompt_logprobs_take_the_prompts_own_token():
    """The first entry of a place is the prompt's, whatever else stands beside it."""
    places = [None, {"5": {"logprob": -3.0}, "9": {"logprob": -0.1}}]
    said = whole({"choices": [{"text": "a", "prompt_logprobs": places, "finish_reason": "stop"}]})
    assert said.prompt_logprobs == (None, -3.0)


BAD = {
    "error-object": (stream(chunk({"content": "a"}), {"error": {"message": "boom", "code": 500}}), Trouble.FAULT),
    "error-without-code": (stream({"error": "boom"}), Trouble.FAULT),
    "error-of-ours": (stream({"error": {"message": "too long", "code": 400}}), Trouble.REJECTED),
    "older-error-object": (stream({"object": "error", "message": "boom", "code": 500}), Trouble.FAULT),
    "no-done": (stream(chunk({"content": "a"}, "stop"), done=False), Trouble.MALFORMED),
    "no-finish": (stream(chunk({"content": "a"})), Trouble.MALFORMED),
    "no-chunk": (stream(), Trouble.MALFORMED),
    "no-json": (stream("{nope"), Trouble.MALFORMED),
    "no-object": (stream("[1]"), Trouble.MALFORMED),
    "null": (stream("null"), Trouble.MALFORMED),
    "choices-of-another-shape": (stream({"choices": [1]}), Trouble.MALFORMED),
    "empty-body": (whole(b""), Trouble.MALFORMED),
    "html": (whole(b"<html>"), Trouble.MALFORMED),
    "choices-missing": (whole({"id": 1}), Trouble.MALFORMED),
    "500": (whole({"error": {"message": "x"}}, 500), Trouble.FAULT),
    "500-html": (whole(b"<html>", 500), Trouble.FAULT),
    "502": (whole(b"", 502), Trouble.FAULT),
    "503": (whole(b"", 503), Trouble.BUSY),
    "429": (whole(b"", 429), Trouble.BUSY),
    "401": (whole(b"", 401), Trouble.DENIED),
    "404": (whole(b"", 404), Trouble.LACKING),
    "400": (whole({"error": {"message": "max_tokens cannot be greater than max_model_len=10"}}, 400), Trouble.REJECTED),
    "no-tool-parser": (
        whole({"error": {"message": 'tool_choice="required" requires --tool-call-parser to be set'}}, 400),
        Trouble.LACKING,
    ),
    "no-auto-choice": (
        whole({"error": {"message": '"auto" tool choice requires --enable-auto-tool-choice and ...'}}, 400),
        Trouble.LACKING,
    ),
}


@pytest.mark.parametrize(("answered", "trouble"), BAD.values(), ids=BAD.keys())
def test_what_is_no_answer_is_named(answered, trouble):
    """Each way to get no answer has its kind, and its exchange goes with it."""
    problem = trouble_of(answered)
    assert problem is not None
    assert problem.trouble is trouble
    assert verdict_of(problem).exchanges == (answered.exchange,)


VERDICTS = {
    Trouble.UNREACHED: "unknown", Trouble.BUSY: "unknown", Trouble.DENIED: "unknown", Trouble.REJECTED: "unknown",
    Trouble.LACKING: "skipped", Trouble.FAULT: "failure", Trouble.MALFORMED: "failure",
}  # fmt: skip


@pytest.mark.parametrize("trouble", Trouble)
def test_only_what_the_engine_did_is_a_failure(trouble):
    """What hindered the asking is unknown, what the worker lacks is skipped."""
    problem = trouble_of(BAD["500"][0])
    assert problem is not None
    problem.trouble = trouble
    assert verdict_of(problem).verdict == VERDICTS[trouble]


def test_a_kept_exchange_reads_the_same_again():
    """What the probe that looks at all answers reads is what was said, streamed or not."""
    events = [chunk({"content": "a"}), chunk({"reasoning": "b"}), chunk({"content": "c"}, "stop")]
    said = stream(*events)
    assert again(said.exchange).content == said.content == "ac"
    plain = whole({"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]})
    assert again(plain.exchange).content == "x"


def test_what_is_kept_is_bounded():
    """A long stream is cut where it is kept, not where it is read."""
    said = stream(*(chunk({"content": "abc" * 100}) for _ in range(200)), chunk({}, "stop"))
    assert len(said.exchange.text) == EXCHANGE_LIMIT
    assert said.content == "abc" * 100 * 200
    assert again(said.exchange).content


@pytest.mark.parametrize("seed", range(20))
def test_no_line_raises(seed):
    """Whatever bytes stand in an event, reading goes on or says that it is garbled."""
    random.seed(seed)
    good = json.dumps(chunk({"content": "word", "tool_calls": [{"index": 0, "function": {"name": "f"}}]}, "stop"))
    for _ in range(200):
        text = list(good)
        for _ in range(random.randint(1, 4)):
            text[random.randrange(len(text))] = random.choice('{}[]",:0nulx\x00é')
        said = stream("".join(text))
        assert said.garbled or said.chunks or said.ended
