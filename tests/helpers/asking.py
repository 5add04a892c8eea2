"""Questions to a fake that answers, and its replies in the form of golden.json."""

import json
import urllib.error
import urllib.request
from typing import Any

from tests.helpers.fake import Fake
from tests.real.replies import joined, whole

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"


def ask(fake: Fake, body: dict[str, Any], path: str = CHAT, **more: Any) -> tuple[int, str]:
    """Status and text."""
    sent = json.dumps({"model": "tiny"} | body | more).encode()
    request = urllib.request.Request(fake.url + path, sent, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def reply(fake: Fake, body: dict[str, Any], stream: bool = False) -> dict[str, Any]:
    """Content, reasoning, calls and finish reason."""
    status, text = ask(fake, body, stream=stream)
    assert status == 200, text
    return joined(text) if stream else whole(text)


def metric(fake: Fake, name: str) -> float:
    """The first series of a family of vLLM's, named without its prefix."""
    with urllib.request.urlopen(f"{fake.url}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    return float(next(one for one in lines if one.startswith(f"vllm:{name}{{")).split()[-1])
