"""``http``: a GET on the engine's own address has the expected status. Proves that the API server answers."""

from __future__ import annotations

import aiohttp

from genesisd.probes.http_client import blame, get
from genesisd.probes.model import Outcome, failure, success
from genesisd.probes.ports import Target
from genesisd.probes.spec import HttpProbe


class Http:
    """Stateless."""

    def __init__(self, spec: HttpProbe, session: aiohttp.ClientSession) -> None:
        self._spec, self._session = spec, session

    async def ask(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Compare the status; the body is not looked at."""
        url = target.base_url + self._spec.path
        try:
            status, body = await get(self._session, url, target.headers, limit=4096)
        except (aiohttp.ClientError, OSError) as error:
            return blame(error, url)
        if status == self._spec.status:
            return success(f"{self._spec.path} answered {status}", status=status)
        found = f"{self._spec.path} answered {status}, expected {self._spec.status}"
        return failure(found, status=status, body=body[:500].decode(errors="replace"))

    async def late(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """No answer by the deadline is a failure."""
        return failure(f"{self._spec.path} did not answer within {self._spec.timeout:g} s", url=target.base_url)

    async def close(self) -> None:
        """Nothing is kept."""
