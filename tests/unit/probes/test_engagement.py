import asyncio

import pytest

from genesisd.probes.kinds.engagement import Engagement
from genesisd.probes.model import Outcome, Verdict, failure, skipped, success, unknown
from genesisd.probes.ports import Target
from genesisd.probes.spec import EngagementProbe


async def ask(said: Outcome) -> Outcome:
    async def engagement() -> Outcome:
        await asyncio.sleep(0)
        return said

    probe = Engagement(EngagementProbe(), None)  # type: ignore[arg-type]
    target = Target("w", 1, 1, "127.0.0.1", 1, members=list, engagement=engagement)
    found = await probe.ask(target, 0.0)
    await probe.close()
    return found


@pytest.mark.parametrize(
    "said",
    [
        failure("P62 was never reached by 300 requests"),
        failure("P62 was reached in one of two workers"),
        failure("P62 left its counter at 7 for an hour of traffic"),
        failure("the process that carries P62 tells nothing"),
        failure("P62 and PN388 were never reached", patches=["P62", "PN388"]),
        success("all 3 patches were reached"),
        success("nobody asked anything yet that could reach one"),
        skipped("it runs the plain pin"),
        skipped("no patch tells of its use"),
        unknown("reports are awaited"),
    ],
    ids=lambda one: one.summary.replace(" ", "_"),
)
async def test_says_what_the_reports_say(said: Outcome) -> None:
    """Whoever reads the reports decides; nothing is added."""
    assert await ask(said) is said


async def test_slow_reports_are_unknown() -> None:
    """A disk that is slow is not the worker's fault."""
    probe = Engagement(EngagementProbe(timeout=3), None)  # type: ignore[arg-type]
    said = await probe.late(Target("w", 1, 1, "127.0.0.1", 1, members=list), 0.0)
    assert (said.verdict, said.summary) == (Verdict.UNKNOWN, "the reports could not be read within 3 s")
