"""What every message of the wire has in common."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Wire(BaseModel):
    """Base of every wire type: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Answer(Wire):
    """Base of every whole answer."""

    schema_: Literal[1] = Field(default=1, alias="schema")
