"""How the double misbehaves: for the next request, or until it is told otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field

from genesisd.watch.refs import Ref

from .facts import World


@dataclass(frozen=True)
class Status:
    """An answer with that status and nothing of use."""

    status: int = 502
    text: str = "Bad Gateway"


@dataclass(frozen=True)
class Refuse:
    """A limit: with a time to wait, with a spent hour, or with neither."""

    status: int = 403
    retry_after: str | None = None
    resets_in: float | None = None
    text: str = "You have exceeded a secondary rate limit."


@dataclass(frozen=True)
class Slow:
    """Half the body, and the rest after so many seconds."""

    seconds: float = 60.0


@dataclass(frozen=True)
class Truncated:
    """Half the body, then the connection ends; ``quietly``: after a length that agrees with it."""

    quietly: bool = False


Once = Status | Refuse | Slow | Truncated


@dataclass
class Faults:
    """None of them holds at first.

    Attributes:
        next: for the next requests, one each; None lets one pass.
        heavy_above: 502 for a query with more aliases.
        exhausted_above: 200 and "Resource limits" for a query with more aliases.
        exhausted_after: so many aliases of a query are answered, and the others are null for want of resources.
        nulls: aliases of these are null, with an error of that type (none: null without an error).
        stale: answers come from this older world, with today's date.
        replay: every answer is the first that was ever given to that question or, for queries, to any.
        down: connections are closed without an answer.
        after: so many requests are answered, and then none.
        no_files: files of this one cannot be told, which an error says.
        heavy_files: 502 for every page with the files of this one.
        poison: 502 for every query that asks about this one.
        page: everything is answered by this page, with a good status.
        moved: everything is said to be there now.
        compare: commits can be compared with; else 404.
    """

    next: list[Once | None] = field(default_factory=list)
    heavy_above: int | None = None
    exhausted_above: int | None = None
    exhausted_after: int | None = None
    nulls: dict[Ref, str | None] = field(default_factory=dict)
    stale: World | None = None
    replay: bool = False
    down: bool = False
    after: int | None = None
    no_files: Ref | None = None
    heavy_files: Ref | None = None
    poison: Ref | None = None
    page: str = ""
    moved: str = ""
    compare: bool = True
