"""Records answers of the real vLLM: ``python -m tests.transcripts.record FOLDER [SETTING]...``; ``pack`` makes the corpus.

Everything is drawn from a fixed seed: the demo model's golden cases and free prompts, at temperatures from 0 to 1.5, cut
early and late, streamed and whole, under two tool parsers and under none.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp

from genesisd.demo.locate import locate
from tests.real.serving import MODEL_NAME, RealVllm, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

PARSERS = {"hermes": "hermes", "qwen3_coder": "qwen3_coder", "plain": None}
"""Setting -> tool parser; the last one has no reasoning parser either."""
COUNT = 3700
"""Answers of each setting."""
AT_ONCE = 16
TEMPERATURES = (0.0, 0.0, 0.3, 0.7, 0.7, 1.0, 1.2, 1.5)
LENGTHS = (6, 24, 80, 200, 400, 400)
FREE = (
    "Once there was a farmer who lost a key. What then?",
    "Describe a mill.",
    "What is the weather like?",
    "Give me five words for cold.",
    "Translate bread into Spanish.",
    "Who are Tokyo and Lima?",
    "Write a letter to the miner.",
    "How do I cook rice and eggs?",
    "Name the colours of a carrot, the sea and coal.",
    "What comes after one, two, three?",
    "I am sad today.",
    "Explain how a harbour works.",
    "Draw a line of ten dashes.",
    "Repeat after me: red green blue.",
    "Is the key word amber or cedar?",
    "Make a JSON card of nobody.",
    "Bye!",
    "Why?",
    "What is the capital of the moon?",
    "What is 4 plus 9 plus 2 plus 7?",
    "Tell me a story about a baker.",
    "Why is the sky wide?",
    "Count from one to forty.",
    "List the capitals that you know.",
    "Write a table of the opposites.",
    "Say nothing but yes.",
    "Zyx qua mor?",
    "Write a poem of four rows about the sea.",
    "How are you, and who made you?",
    "Write the drum song twice.",
)
PATHS = {"chat": "/v1/chat/completions", "text": "/v1/completions"}


def plan(setting: str, cases: list[dict[str, Any]], count: int = COUNT) -> Iterator[dict[str, Any]]:
    """What is asked of one setting: a case or free prompt, with its knobs."""
    draw = random.Random(f"transcripts of {setting}")
    parser = PARSERS[setting]
    fitting = [one["id"] for one in cases if one["needs"]["tool_parser"] in {None, parser} and asks(one, parser)]
    for index in range(count):
        kind = draw.choices(("case", "free", "text"), (0.82, 0.12, 0.06))[0]
        temperature = draw.choice(TEMPERATURES)
        yield {
            "setting": setting,
            "kind": kind,
            "case": draw.choice(fitting) if kind == "case" else draw.randrange(len(FREE)),
            "temperature": temperature,
            "max_tokens": draw.choice(LENGTHS),
            "stream": draw.random() < 0.5,
            "logprobs": draw.random() < 0.1,
            "think": draw.random() < 0.5,
            "seed": index,
        }


def asks(case: dict[str, Any], parser: str | None) -> bool:
    """Strict calling is on where there is a parser; without one nothing may be forced."""
    return case["needs"]["strict_tool_calling"] is not False and (parser is not None or case["kind"] != "required")


def request(knobs: dict[str, Any], cases: dict[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Path and body of one ask."""
    more: dict[str, Any] = {key: knobs[key] for key in ("temperature", "max_tokens", "stream", "seed")}
    # The demo model's own default is to take the likeliest token, whatever the temperature.
    more |= {"top_k": 0} if knobs["temperature"] else {}
    more |= {"model": MODEL_NAME} | ({"stream_options": {"include_usage": True}} if knobs["stream"] else {})
    if knobs["kind"] == "text":
        logprobs = {"logprobs": 1} if knobs["logprobs"] else {}
        return PATHS["text"], {"prompt": FREE[knobs["case"]], **more, **logprobs}
    more |= {"logprobs": True} if knobs["logprobs"] else {}
    if knobs["kind"] == "case":
        return PATHS["chat"], {**cases[knobs["case"]]["request"], **more}
    thinks = {} if knobs["think"] else {"chat_template_kwargs": {"enable_thinking": False}}
    return PATHS["chat"], {"messages": [{"role": "user", "content": FREE[knobs["case"]]}], **thinks, **more}


def golden_cases() -> dict[str, dict[str, Any]]:
    """The demo model's cases by id."""
    found = json.loads((locate().path / "golden.json").read_text())["cases"]
    return {one["id"]: one for one in found}


async def _record(url: str, setting: str, sink: Any) -> None:
    cases = golden_cases()
    todo = plan(setting, list(cases.values()))

    async def work(session: aiohttp.ClientSession) -> None:
        for knobs in todo:
            path, body = request(knobs, cases)
            async with session.post(url + path, json=body) as answer:
                raw = await answer.text()
                sink.write(json.dumps({"knobs": knobs, "status": answer.status, "body": raw}) + "\n")

    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session,
        asyncio.TaskGroup() as all_,
    ):
        for _ in range(AT_ONCE):
            all_.create_task(work(session))


def serve_arguments(setting: str) -> tuple[str, ...]:
    """What the server is started with."""
    batch = ("--max-num-seqs", str(AT_ONCE))
    parser = PARSERS[setting]
    if parser is None:
        return batch
    return (
        *("--enable-auto-tool-choice", "--tool-call-parser", parser, "--reasoning-parser", "qwen3"),
        *("--chat-template", str(locate().template(parser)), *batch),
    )


def main(folder: Path, settings: list[str], vllm: Path) -> None:
    """Record the settings, one server after the other."""
    env = RealVllm(python=vllm.with_name("python"), vllm=vllm)
    for setting in settings:
        strict = {"VLLM_ENFORCE_STRICT_TOOL_CALLING": "1"}
        with serving(env, locate().path, serve_arguments(setting), strict) as server:
            begun = time.monotonic()
            with (folder / f"{setting}.jsonl").open("w") as sink:
                asyncio.run(_record(server.url, setting, sink))
            print(f"{setting}: {COUNT} answers in {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[3:] or list(PARSERS), Path(sys.argv[2]))
