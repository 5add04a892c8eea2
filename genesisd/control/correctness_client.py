"""Asks the daemon about probes, goldens, incidents and quarantine. Standard library only, see ``client``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from genesisd.control.address import part, query


class CorrectnessClient:
    """The part of ``Client`` that speaks of correctness. Every method raises ControlError as ``ask`` does."""

    def ask(self, method: str, address: str, body: object = None, *, timeout: float | None = None) -> dict[str, Any]:
        """The JSON answer to one request: ``Client`` has it."""
        raise NotImplementedError

    def probes(self, worker: str | None = None) -> list[dict[str, Any]]:
        """Every probe of one worker, or of all."""
        return _rows(self.ask("GET", f"/v1/probes{query(worker=worker)}"), "probes")

    def run_probe(self, worker: str, kind: str, timeout: float) -> dict[str, Any]:
        """Ask a correctness probe now; raises ControlError with code ``timeout`` after ``timeout`` seconds."""
        address = f"/v1/workers/{part(worker)}/probes/{part(kind)}/run"
        found: dict[str, Any] = self._long(address, {}, timeout)["run"]
        return found

    def probe_history(self, worker: str, kind: str | None, limit: int) -> list[dict[str, Any]]:
        """The newest asks, newest first."""
        address = f"/v1/workers/{part(worker)}/probes/history{query(kind=kind, limit=limit)}"
        return _rows(self.ask("GET", address), "runs")

    def record_golden(
        self, worker: str, explain: Mapping[str, str], *, dry_run: bool, timeout: float
    ) -> dict[str, Any]:
        """Record what the worker answers as right, within ``timeout`` seconds."""
        body = {"explain": dict(explain), "dry_run": dry_run}
        return self._long(f"/v1/workers/{part(worker)}/golden", body, timeout)

    def incidents(self, worker: str | None, limit: int, *, open_only: bool) -> list[dict[str, Any]]:
        """Incidents without their happenings, newest first."""
        return _rows(
            self.ask("GET", f"/v1/incidents{query(worker=worker, limit=limit, open=int(open_only))}"), "incidents"
        )

    def incident(self, id_: int) -> dict[str, Any]:
        """One incident, whole."""
        found: dict[str, Any] = self.ask("GET", f"/v1/incidents/{id_}")["incident"]
        return found

    def why(self, worker: str) -> dict[str, Any]:
        """Why the worker is as it is."""
        return self.ask("GET", f"/v1/workers/{part(worker)}/why")

    def replay(self, id_: int, worker: str, timeout: float) -> list[dict[str, Any]]:
        """Ask a worker what was asked in an incident, within ``timeout`` seconds."""
        return _rows(self._long(f"/v1/incidents/{id_}/replay", {"worker": worker}, timeout), "replays")

    def quarantine(self) -> list[dict[str, Any]]:
        """Patches that are left out, and cards that are not used."""
        return _rows(self.ask("GET", "/v1/quarantine"), "quarantined")

    def release(self, what: str, name: str, worker: str | None) -> list[dict[str, Any]]:
        """Let a patch or a card be used again; what is left."""
        body = {"what": what, "name": name, "worker": worker}
        return _rows(self.ask("POST", "/v1/quarantine/release", body), "quarantined")

    def _long(self, address: str, body: Mapping[str, Any], timeout: float) -> dict[str, Any]:
        """A request that says how long it may take; the daemon's own answer to that comes a little later."""
        return self.ask("POST", address, {**body, "timeout": timeout}, timeout=timeout + 10)


def _rows(answer: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = answer[name]
    return found
