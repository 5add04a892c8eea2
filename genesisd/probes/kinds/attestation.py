"""``attestation``: every process of the engine runs the code of its build, by its own report.

It goes on asking: what was swapped, or started beside the build, an hour after the start is found as well.
"""

from __future__ import annotations

import aiohttp

from genesisd.probes.model import Outcome, Verdict, unknown
from genesisd.probes.ports import Target
from genesisd.probes.spec import AttestationProbe


class Attested:
    """Remembers since when reports have been awaited."""

    def __init__(self, spec: AttestationProbe, session: aiohttp.ClientSession) -> None:  # noqa: ARG002 - one signature
        self._spec = spec
        self._since: float | None = None

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
        return outcome

    async def late(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Reports are local files: if reading them takes long, this machine is the one that is slow."""
        return unknown(f"the reports could not be read within {self._spec.timeout:g} s")

    async def close(self) -> None:
        """Nothing is kept open."""
