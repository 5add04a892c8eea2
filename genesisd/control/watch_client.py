"""Asks the daemon about the upstream watch. Standard library only, see ``client``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from genesisd.control.address import part, query


class WatchClient:
    """The part of ``Client`` that speaks of the watch. Every method raises ControlError as ``ask`` does."""

    def ask(self, method: str, address: str, body: object = None, *, timeout: float | None = None) -> dict[str, Any]:
        """The JSON answer to one request: ``Client`` has it."""
        raise NotImplementedError

    def lines(self, address: str) -> Iterator[dict[str, Any]]:
        """The documents of a stream: ``Client`` has it."""
        raise NotImplementedError

    def watch(self) -> dict[str, Any]:
        """The watch in short."""
        return self.ask("GET", "/v1/watch")

    def watch_rows(self) -> list[dict[str, Any]]:
        """All rows, in the order of the file."""
        found: list[dict[str, Any]] = self.ask("GET", "/v1/watch/rows")["rows"]
        return found

    def watched(self, ref: str) -> dict[str, Any]:
        """All there is to know about one pull request, such as ``vllm#1``."""
        return self.ask("GET", f"/v1/watch/pull{query(ref=ref)}")

    def watch_why(self, ref: str) -> dict[str, Any]:
        """Why it stands as it does."""
        return self.ask("GET", f"/v1/watch/why{query(ref=ref)}")

    def watch_report(self, sweep: int | None, form: str) -> dict[str, Any]:
        """A sweep's report (None: the newest), as ``markdown`` or ``html``."""
        return self.ask("GET", f"/v1/watch/report{query(sweep=sweep, form=form)}")

    def decisions(self, *, open_only: bool) -> list[dict[str, Any]]:
        """Decisions, by urgency."""
        found: list[dict[str, Any]] = self.ask("GET", f"/v1/watch/decisions{query(open=int(open_only))}")["decisions"]
        return found

    def accept(self, id_: int, why: str) -> dict[str, Any]:
        """Say that a decision was acted on, or will be; the decision as it is then."""
        return self._answered(id_, "accept", why=why)

    def decline(self, id_: int, why: str, revisit_when: Sequence[str]) -> dict[str, Any]:
        """Say no, for a reason, until one of the predicates turns true."""
        return self._answered(id_, "decline", why=why, revisit_when=list(revisit_when))

    def snooze(self, id_: int, until: float, why: str) -> dict[str, Any]:
        """Not before wall time ``until``."""
        return self._answered(id_, "snooze", until=until, why=why)

    def _answered(self, id_: int, verb: str, **said: object) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("POST", f"/v1/watch/decisions/{id_}/{part(verb)}", said)["decision"]
        return found

    def dossiers(
        self, ref: str, patch: str | None, pin: str | None, *, anew: bool, timeout: float
    ) -> list[dict[str, Any]]:
        """Ours beside upstream's, made within ``timeout`` seconds where they were not."""
        body = {"ref": ref, "patch": patch, "pin": pin, "anew": anew, "timeout": timeout}
        answer = self.ask("POST", "/v1/watch/dossiers", body, timeout=timeout + 10)
        found: list[dict[str, Any]] = answer["dossiers"]
        return found

    def forget(self, ref: str) -> dict[str, Any]:
        """Drop what is believed of a pull request; what that was."""
        found: dict[str, Any] = self.ask("POST", "/v1/watch/forget", {"ref": ref})["forgotten"]
        return found

    def sweep(self, kind: str) -> dict[str, Any]:
        """Begin a sweep, or take part in the one that goes on."""
        found: dict[str, Any] = self.ask("POST", "/v1/watch/sweep", {"kind": kind})["sweep"]
        return found

    def sweep_progress(self, sweep: int | None) -> Iterator[dict[str, Any]]:
        """A sweep (None: the newest) each time it gets on, and at last as it ended."""
        return (line["sweep"] for line in self.lines(f"/v1/watch/progress{query(sweep=sweep)}"))
