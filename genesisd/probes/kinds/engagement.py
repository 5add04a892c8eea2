"""``engagement``: patches that carry load and tell of their use were reached by users' requests."""

from __future__ import annotations

import aiohttp

from genesisd.probes.model import Outcome, unknown
from genesisd.probes.ports import Target
from genesisd.probes.spec import EngagementProbe


class Engagement:
    """Stateless: whoever reads the reports of the engine's processes keeps count."""

    def __init__(self, spec: EngagementProbe, session: aiohttp.ClientSession) -> None:  # noqa: ARG002 - one signature
        self._spec = spec

    async def ask(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Ask whoever reads the reports."""
        return await target.engagement()

    async def late(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Reports are local files: if reading them takes long, this machine is the one that is slow."""
        return unknown(f"the reports could not be read within {self._spec.timeout:g} s")

    async def close(self) -> None:
        """Nothing is kept open."""
