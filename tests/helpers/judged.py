"""A probe asked again and again, weighed as the loop weighs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from genesisd.probes import PROBES
from genesisd.probes.casebook import AnswerCase, Casebook
from genesisd.probes.golden import Golden
from genesisd.probes.http_client import open_session
from genesisd.probes.model import Outcome, Stage, Verdict
from genesisd.probes.ports import Abilities, Target
from genesisd.probes.recording import record
from genesisd.probes.threshold import Threshold

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import aiohttp

    from genesisd.probes.ports import Probe
    from tests.helpers.honest import Honest

BOOK = Casebook(
    name="small",
    golden=tuple(
        AnswerCase(name, {"messages": [{"role": "user", "content": text}], "max_tokens": 20})
        for name, text in {"tea": "do you like tea", "sea": "think of the sea", "key": "where is my key"}.items()
    ),
    drift=" ".join(f"word{n} and" for n in range(60)),
    prefix=AnswerCase("rules", {"messages": [{"role": "user", "content": "one of the many rules " * 40}]}),
    texts=("Plain text", "def f(): return 1", "MiXed  Case", "a b c"),
)


@dataclass
class Judged:
    """One probe of one life, with its standing."""

    target: Target
    session: aiohttp.ClientSession
    spec: Any
    golden: Golden | None
    standing: Threshold
    probe: Probe
    outcomes: list[Outcome]

    async def asks(self, times: int) -> Threshold:
        """Ask so often, or until the probe stands bad."""
        for _ in range(times):
            outcome = await self.probe.ask(self.target, 0.0)
            self.outcomes.append(outcome)
            self.standing = self.standing.after(outcome.verdict, self.spec.failures, self.spec.successes)
            if self.standing.good is False:
                break
        return self.standing

    @property
    def verdicts(self) -> list[Verdict]:
        return [one.verdict for one in self.outcomes]

    def told(self) -> Iterator[str]:
        return (one.summary for one in self.outcomes)


@asynccontextmanager
async def judging(
    honest: Honest, spec: Any, abilities: Abilities | None = None, book: Casebook = BOOK
) -> AsyncIterator[Judged]:
    """Recorded of an engine as it is now; what is changed afterwards is for the probe to notice."""
    async with honest.engine() as engine, open_session() as session:
        target = Target(
            "w", 1, 1, "127.0.0.1", engine.port, lambda: (), model="m", casebook=book,
            abilities=abilities or Abilities(), golden=lambda: judged.golden,
        )  # fmt: skip
        golden = await record(target, book, session, model="m", pin="p", build=None)
        judged = Judged(
            target, session, spec, golden, Threshold.fresh(Stage.CORRECTNESS), PROBES[spec.kind](spec, session), []
        )
        yield judged
        await judged.probe.close()
