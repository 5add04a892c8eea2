"""A recording as JSON and back; what is not wholly a recording is refused. Pure."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, TypeAdapter, ValidationError

from genesisd.errors import GenesisError
from genesisd.probes.golden import Drift, Golden, Reply

VERSION = 1


class GoldenError(GenesisError):
    """A file that holds no recording that this release can read."""

    code = "golden"


class _Checked(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Reply(_Checked):
    content: str | None
    reasoning: str | None
    calls: tuple[tuple[str, str], ...]
    finish: str
    ids: tuple[int, ...]
    margins: tuple[FiniteFloat, ...]
    streamed: bool


class _Drift(_Checked):
    text: str
    logprobs: tuple[FiniteFloat, ...]
    bound: Annotated[FiniteFloat, Field(gt=0)]


class _Golden(_Checked):
    version: int
    model: str
    pin: str
    build: str | None
    casebook: str
    replies: dict[str, _Reply]
    drift: _Drift | None
    tokenizer: str | None
    differs: dict[str, str]
    reference: str | None
    weights: str | None
    recorded: FiniteFloat


_ADAPTER = TypeAdapter(_Golden)


def to_json(golden: Golden) -> str:
    """One recording, with the version of the form."""
    return json.dumps({"version": VERSION, **dataclasses.asdict(golden)}, ensure_ascii=False, sort_keys=True, indent=1)


def written(golden: Golden) -> bytes:
    """The same, for a file; raises GoldenError where the next daemon could not read it: half a character, NaN."""
    try:
        content = to_json(golden).encode()
        from_json(content)
    except (GoldenError, UnicodeEncodeError) as error:
        raise GoldenError(
            f"its answers cannot be kept: {error}", hint="what is no text or number is no answer"
        ) from error
    return content


def from_json(text: str | bytes) -> Golden:
    """The recording in ``text``. Raises GoldenError where it is not one, or one of another version."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise GoldenError(f"not a recording: {error}", hint="record it anew") from error
    version = document.get("version") if isinstance(document, dict) else None
    if version != VERSION:
        raise GoldenError(f"a recording of version {version!r}, expected {VERSION}", hint="record it anew")
    try:
        read = _ADAPTER.validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise GoldenError(f"not a recording: {where}: {first['msg']}", hint="record it anew") from error
    return _made(read)


def _made(read: _Golden) -> Golden:
    parts = {name: getattr(read, name) for name in _Golden.model_fields if name not in {"version", "replies", "drift"}}
    replies = {case: Reply(**dict(one)) for case, one in read.replies.items()}
    return Golden(replies=replies, drift=Drift(**dict(read.drift)) if read.drift else None, **parts)
