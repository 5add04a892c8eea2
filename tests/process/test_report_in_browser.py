"""A report in a real browser: nothing of it runs, nothing is fetched, all of it is there, and no window is too narrow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.watch.model import Known
from genesisd.watch.page import Items, Table
from genesisd.watch.refs import Ref
from genesisd.watch.render import to_html
from genesisd.watch.report import report
from genesisd.watch.rows import Watchlist
from tests.helpers.browser import PROGRAM, WHY_NO_BROWSER, browser
from tests.unit.watch.test_report import KEPT, MADE, PULL, REPO, RESULT, ROW

pytestmark = [pytest.mark.process, pytest.mark.skipif(PROGRAM is None, reason=WHY_NO_BROWSER)]
RUNS = "<script>document.title = 'it ran'</script><img src=http://127.0.0.1:9/x onerror=\"document.title = 'it ran'\">"
LONG = "vllm/" + "very_long_name_without_a_place_to_break_" * 8 + ".py"
REFS = [Ref(REPO, n) for n in range(1, 121)]


def page():
    """A night on which everything is long, and titles are hostile."""
    rows = tuple(replace(ROW, index=n, line=2 + n, upstream=ref, patches=("P1",) * 12) for n, ref in enumerate(REFS))
    pulls = {ref: replace(PULL, ref=ref, title=f"{RUNS} {LONG}") for ref in REFS}
    made = [replace(MADE, ref=ref, key=str(ref), reason=f"{RUNS} {LONG}", evidence=(LONG, RUNS)) for ref in REFS]
    kept = tuple(replace(KEPT, id=n, decision=one) for n, one in enumerate(made))
    return report(
        replace(
            RESULT,
            watchlist=Watchlist(file="w.yaml", digest="", watch=rows, sweep=()),
            known={ref: Known(ref, pull) for ref, pull in pulls.items()},
            changes=(replace(RESULT.changes[0], evidence=LONG),),
            kept=kept,
            troubles=(f"{RUNS} {LONG}",),
            new=tuple(replace(RESULT.new[0], pull=pull, reasons=(LONG,)) for pull in pulls.values()),
        )
    )


@pytest.fixture
def shown(tmp_path):
    file = tmp_path / "report.html"
    file.write_text(to_html(page()), encoding="utf-8")
    return file


@pytest.mark.parametrize("width", [400, 1400])
async def test_a_report_fits_and_is_whole(tmp_path, shown, width):
    """Tables too wide for a telephone move within themselves; the page does not."""
    blocks = page()
    rows = sum(len(block.rows) for block in blocks if isinstance(block, Table))
    items = sum(len(block.items) for block in blocks if isinstance(block, Items))
    assert rows >= 3 * len(REFS)
    async with browser(tmp_path / "profile") as window:
        await window.show(shown, width)
        assert await window.value("innerWidth") == width
        assert await window.value("document.documentElement.scrollWidth") <= width
        outside = "[...document.querySelectorAll('h1,h2,h3,p,li,table')].filter(e => e.getBoundingClientRect().right > innerWidth).map(e => e.textContent.slice(0, 60))"  # fmt: skip
        assert await window.value(outside) == []
        assert await window.value("document.querySelectorAll('tbody tr').length") == rows
        assert await window.value("document.querySelectorAll('li').length") == items
        assert await window.value("[...document.querySelectorAll('tr')].filter(e => e.offsetHeight < 10).length") == 0


async def test_nothing_of_a_title_runs_or_is_fetched(tmp_path, shown):
    """It stands there as text; and were it markup, the page itself forbids it."""
    slipped = tmp_path / "slipped.html"
    slipped.write_text(shown.read_text().replace("<body>", f"<body>{RUNS}"))
    allowed = tmp_path / "allowed.html"
    allowed.write_text(f"<!doctype html><title>t</title><body>{RUNS}</body>")
    async with browser(tmp_path / "profile") as window:
        await window.show(shown, 1400)
        assert await window.value("document.querySelectorAll('script,img,iframe,link,object').length") == 0
        assert await window.value("document.title") == "Upstream on 2027-01-15 (nightly sweep)"
        assert (await window.value("document.body.innerText")).count("<script>") >= len(REFS)
        assert window.asked() == []
        await window.show(slipped, 1400)
        assert await window.value("document.querySelectorAll('body > script').length") == 1
        assert await window.value("document.title") == "Upstream on 2027-01-15 (nightly sweep)"
        await window.show(allowed, 1400)  # this browser would have
        assert await window.value("document.title") == "it ran"
