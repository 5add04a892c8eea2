"""The reports of sweeps, kept as files that people and web servers can read without the daemon."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from genesisd.errors import NotFoundError
from genesisd.pins import atomic
from genesisd.watch.render import to_html, to_markdown
from genesisd.watch.report import report
from genesisd.watch.result import SweepResult

FORMS = {"markdown": ".md", "html": ".html"}
_NAME = re.compile(r"(\d+)\.(md|html)")


class Reports:
    """One folder; the newest so many stay."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, sweep: int, result: SweepResult, *, most: int) -> Path:
        """Write both forms; returns where the Markdown is. Blocks. Raises OSError."""
        self._folder.mkdir(parents=True, exist_ok=True)
        page = report(result)
        for form, text in (("markdown", to_markdown(page)), ("html", to_html(page))):
            atomic.write_bytes(self._path(sweep, form), text.encode())
        for old in [number for number in self._numbers() if number != sweep][most - 1 :]:
            for form in FORMS:
                self._path(old, form).unlink(missing_ok=True)
        return self._path(sweep, "markdown")

    def read(self, sweep: int | None, form: str) -> tuple[int, float, str, Path]:
        """Number, wall time, text and path of one, or of the newest. Blocks.

        Raises:
            NotFoundError: there is none, or it was removed.
        """
        number = next(iter(self._numbers()), None) if sweep is None else sweep
        if number is None:
            raise NotFoundError("there is no report yet", hint="genesisctl watch sweep --now makes one")
        path = self._path(number, form)
        try:
            return number, path.stat().st_mtime, path.read_text(encoding="utf-8"), path
        except FileNotFoundError:
            kept = sorted(self._numbers())
            known = f"kept are those of sweeps {kept[0]} to {kept[-1]}" if kept else "none is kept"
            raise NotFoundError(f"no report of sweep {number}; {known}", sweep=number) from None

    def _numbers(self) -> list[int]:
        """The newest first, by when it was written: a store that had to be begun anew counts from one again."""
        if not self._folder.is_dir():
            return []
        written: dict[int, int] = {}
        for path in self._folder.iterdir():
            if found := _NAME.fullmatch(path.name):
                with contextlib.suppress(FileNotFoundError):
                    written[int(found[1])] = max(path.stat().st_mtime_ns, written.get(int(found[1]), 0))
        return sorted(written, key=lambda number: (written[number], number), reverse=True)

    def _path(self, sweep: int, form: str) -> Path:
        return self._folder / f"{sweep}{FORMS[form]}"
