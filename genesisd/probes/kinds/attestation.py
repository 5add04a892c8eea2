"""``attestation``: every process of the engine runs the code of its build, by its own report.

It goes on asking: what was swapped, or started beside the build, an hour after the start is found as well.
"""

from __future__ import annotations

from dataclasses import replace

import aiohttp

from genesisd.probes.model import Outcome, Verdict, unknown
from genesisd.probes.ports import Target
from genesisd.probes.spec import AttestationProbe

SETTLING = 1.5
"""Seconds between the first look that finds all well and one that counts.

Processes report what is new once a second, so what they loaded just before the server answered is not in the reports
that lie there then: whoever was believed at once would be ready, and let in to traffic, by code that nobody looked at.
"""


class Attested:
    """Remembers since when reports have been awaited, and since when all has been well."""

    def __init__(self, spec: AttestationProbe, session: aiohttp.ClientSession) -> None:  # noqa: ARG002 - one signature
        self._spec = spec
        self._since: float | None = None
        self._well_since: float | None = None

    async def ask(self, target: Target, now: float) -> Outcome:
        """Ask whoever reads the reports; what is awaited for longer than the grace is refused."""
        if target.attester is None:
            return unknown("this worker has no build to be attested")
        waited = 0.0 if self._since is None else now - self._since
        outcome = await target.attester.attest(overdue=waited >= self._spec.grace)
        if outcome.verdict is Verdict.SUCCESS:
            self._since = None
        elif outcome.verdict is Verdict.UNKNOWN and self._since is None:
            self._since = now
        return self._settled(outcome, now)

    def _settled(self, outcome: Outcome, now: float) -> Outcome:
        if outcome.verdict is not Verdict.SUCCESS:
            self._well_since = None
            return outcome
        if self._well_since is None:
            self._well_since = now
        if now - self._well_since >= SETTLING:
            return outcome
        text = f"{outcome.summary}; that counts once reports can tell what was loaded last"
        return replace(outcome, verdict=Verdict.UNKNOWN, summary=text)

    async def late(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Reports are local files: if reading them takes long, this machine is the one that is slow."""
        return unknown(f"the reports could not be read within {self._spec.timeout:g} s")

    async def close(self) -> None:
        """Nothing is kept open."""
