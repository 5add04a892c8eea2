"""The report of a sweep says what changed first, hides no unknown, and lets no title become markup."""

import html.parser
from dataclasses import replace
from datetime import date

import pytest

from genesisd.watch.cost import Asked, Budget, Release
from genesisd.watch.decisions import Decision, DecisionKind, KeptDecision, Standing, Urgency
from genesisd.watch.kinds import SweepKind
from genesisd.watch.model import (
    Collision,
    Content,
    ContentFact,
    Known,
    Lineage,
    LineageFact,
    Pin,
    PinFacts,
    Place,
    Pull,
    Rung,
    State,
    Unanswered,
    WhyUnknown,
)
from genesisd.watch.page import Heading, Items, Link, Paragraph, Table
from genesisd.watch.ports import Met
from genesisd.watch.refs import Ref
from genesisd.watch.render import to_html, to_markdown
from genesisd.watch.report import report
from genesisd.watch.result import NewPull, StatusChange, SweepOutcome, SweepResult
from genesisd.watch.rows import Action, SweepRow, Watchlist, WatchRow

AT = 1_800_000_000.0
REPO = "vllm-project/vllm"
ONE, TWO, THREE = (Ref(REPO, n) for n in (1, 2, 3))
HOSTILE = "a | b `c` <script>alert(1)</script> [x](y)\nnext **line**"
PULL = Pull(ref=ONE, state=State.MERGED, checked_at=AT + 1, title=HOSTILE, merged_at=AT - 86400, merge_commit="f" * 40)
ROW = WatchRow(
    index=0, line=2, upstream=ONE, status=State.OPEN, action=Action.RETIRE, since=date(2026, 7, 5), patches=("P1",)
)
MADE = Decision(
    kind=DecisionKind.RETIRE_CANDIDATE, row="watch:vllm#1", ref=ONE, patches=("P1",), urgency=Urgency.SOON,
    severity="P1", derived=False, reason="its content is in pin a", evidence=("vllm/a.py lines 3 to 9",), key="k",
)  # fmt: skip
KEPT = KeptDecision(id=7, decision=MADE, opened=AT, seen=AT)
RESULT = SweepResult(
    kind=SweepKind.NIGHTLY,
    window="2027-01-15",
    started=AT,
    seconds=12.0,
    watchlist=Watchlist(file="w.yaml", digest="", watch=(ROW,), sweep=(SweepRow(index=0, line=9, upstream=TWO),)),
    known={ONE: Known(ONE, PULL), TWO: Known(TWO, None, Unanswered(TWO, WhyUnknown.OUTAGE, AT + 1, "502"))},
    pins=(Pin(id="a", version="0.32.0", slots=("current",)),),
    facts={
        ONE: (
            PinFacts(
                pin="a",
                lineage=LineageFact(Lineage.ANCESTOR),
                content=ContentFact(Content.PRESENT, Rung.REVERSE_APPLY),
                collisions=(
                    Collision(patch="P1", edit="e", path="vllm/a.py", before=1, after=0, place=Place.OVER, breaks=True),
                ),
            ),
        )
    },
    changes=(StatusChange(row="watch:vllm#1", line=2, ref=ONE, before=State.OPEN, after=State.MERGED, evidence="upstream said so"),),
    decisions=(MADE,),
    met=Met(opened=(KEPT,)),
    kept=(KEPT, replace(KEPT, id=8, standing=Standing.DECLINED)),
    new=(NewPull(pull=replace(PULL, ref=THREE), score=3.25, reasons=("touches vllm/a.py",), patches=("P1",)),),
    releases=(Release(package="vllm", version="0.34.0", yanked=True), Release(package="vllm", version="0.33.0")),
    asked=Asked(requests={"graphql": 5}, unchanged=2, budget=Budget(limit=5000, remaining=4990)),
)  # fmt: skip


def texts(blocks):
    """Every cell of every table, as text."""
    for block in blocks:
        if isinstance(block, Table):
            assert all(len(row) == len(block.head) for row in block.rows)
            for row in block.rows:
                yield tuple(cell.text if isinstance(cell, Link) else cell for cell in row)


def test_what_changed_comes_first():
    """The summary counts, the change is told with its evidence, and the decision stands under its urgency."""
    page = report(RESULT)
    heads = [block.text for block in page if isinstance(block, Heading)]
    assert heads[:3] == ["Upstream on 2027-01-15 (nightly sweep)", "What changed", "Decisions"]
    assert page[1] == Paragraph(
        "2 rows were looked at in 12 s: upstream answered for 1, 1 status lines changed, 1 decisions are new. "
        "Open decisions: 1 soon."
    )
    assert page[3] == Items(
        ("vllm#1 (watch:vllm#1): upstream said so", "new: retire-candidate vllm#1: its content is in pin a")
    )
    assert ("7", "retire-candidate", "vllm#1", "P1", "P1", "its content is in pin a", "vllm/a.py lines 3 to 9") in set(
        texts(page)
    )


def test_many_new_decisions_are_told_by_kind():
    """The first night of a long list would say everything twice."""
    many = tuple(replace(KEPT, id=n, decision=replace(MADE, ref=Ref(REPO, n), key=str(n))) for n in range(1, 40))
    (told,) = [block for block in report(replace(RESULT, met=Met(opened=many))) if isinstance(block, Items)]
    assert len(told.items) == 2
    assert told.items[1].startswith("new: 39 retire-candidate (vllm#1, vllm#2, ")


def test_a_reference_is_not_said_twice():
    """Most reasons begin with it."""
    made = replace(KEPT, decision=replace(MADE, reason="vllm#1 is merged"))
    page = report(replace(RESULT, met=Met(opened=(made,))))
    assert "new: retire-candidate: vllm#1 is merged" in next(block for block in page if isinstance(block, Items)).items


def test_each_row_has_its_line():
    """A row's line has upstream's state, what each pin has of it, and its decision."""
    rows = set(texts(report(RESULT)))
    assert (
        "vllm#1", "merged 2027-01-14 as ffffffffff", "retire", "P1",
        "present (reverse-apply), ancestor, breaks 1 of our edits", "retire-candidate: its content is in pin a",
    ) in rows  # fmt: skip
    assert ("vllm#2", "unknown: outage", "review-on-merge", "", "unknown", "") in rows


def test_an_unknown_is_told_with_its_age():
    """What was not answered stands in a table of its own, with the reason and when upstream last answered."""
    assert ("vllm#2", "outage: 502", "never") in set(texts(report(RESULT)))
    older = replace(PULL, ref=TWO, checked_at=AT + 12 - 7200)
    known = {**RESULT.known, TWO: replace(RESULT.known[TWO], pull=older)}
    page = report(replace(RESULT, known=known))
    assert ("vllm#2", "outage: 502", "2 h ago") in set(texts(page))
    assert any("unknown since 2027-01-15 (outage)" in cell for row in texts(page) for cell in row)


def test_an_old_answer_is_no_answer_of_this_sweep():
    """A row that this sweep did not ask about is told as such, though something is known of it."""
    known = {ONE: Known(ONE, replace(PULL, checked_at=AT - 3600)), TWO: RESULT.known[TWO]}
    page = report(replace(RESULT, known=known))
    assert "upstream answered for 0" in page[1].text
    assert ("vllm#1", "not asked in this sweep", "1 h ago") in set(texts(page))


def test_releases_that_were_withdrawn_are_not_the_newest():
    """And pins are told with the parts they play."""
    (told,) = [block.text for block in report(RESULT) if isinstance(block, Paragraph) and "index" in block.text]
    assert told == "Newest in the index: 0.33.0. Pins: a (current)."


def test_a_failed_sweep_says_that_nothing_was_learned():
    """Nobody may take its silence for good news."""
    page = report(
        SweepResult(
            kind=SweepKind.NIGHTLY, window="w", started=AT, outcome=SweepOutcome.FAILED, troubles=("no answer",)
        )
    )
    assert page[1].text.startswith("Nothing was learned")
    assert Items(("no answer",)) in page


class Tags(html.parser.HTMLParser):
    """Collects what a browser would take for elements, and addresses."""

    def __init__(self):
        super().__init__()
        self.seen = []
        self.addresses = []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.addresses += [value for name, value in attrs if name in {"href", "src"}]


def test_titles_stay_text_in_html():
    """What upstream's people write becomes no element, and links lead to upstream alone."""
    read = Tags()
    read.feed(to_html(report(RESULT)))
    assert set(read.seen) <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "ul", "li", "table", "thead", "tbody",
        "tr", "th", "td", "a",
    }  # fmt: skip
    assert read.addresses
    assert all(address.startswith("https://github.com/vllm-project/vllm/pull/") for address in read.addresses)


def test_titles_break_no_table_in_markdown():
    """Every line of a table has as many cells as its head."""
    lines = to_markdown(report(RESULT)).splitlines()
    width = None
    for line in lines:
        cells = line.replace("\\|", "").count("|")
        width = None if not line.startswith("|") else cells if width is None else width
        assert width is None or cells == width
    assert not any("<script" in line.replace("\\<", "") for line in lines)


@pytest.mark.parametrize("form", [to_html, to_markdown])
def test_titles_steer_no_terminal(form):
    """A report is printed too: no escape of a title moves the cursor, and none turns the direction of reading."""
    hostile = "a\x1b[2J\x1b]0;x\x07b\x9b31mc\u202edxe\u2066f\x00g\u0085h &amp; &#60;b&#62; \udcff"
    text = form([Heading(hostile, 1), Paragraph(hostile), Items((hostile, Link(hostile, "https://x.example/")))])
    assert [sign for sign in text if not (sign.isprintable() or sign == "\n")] == []
    assert "\N{REPLACEMENT CHARACTER}[2J" in text.replace("\\", "")
    assert text.encode()
    assert "&amp;amp; &amp;#60;b" in text or "\\&amp; \\&\\#60;b" in text


def test_notes_are_no_new_decisions():
    """Each row has a line, and most lines ask for nothing."""
    note = replace(KEPT, id=8, decision=replace(MADE, kind=DecisionKind.NOTE, key="n"))
    page = report(replace(RESULT, met=Met(opened=(KEPT, note))))
    assert "1 decisions are new" in page[1].text


@pytest.mark.parametrize(
    "to", ["javascript:alert(1)", "http://github.com/a", "https://x.example/a b", "https://x.example/<b>"]
)
def test_an_odd_address_is_no_link(to):
    """Only plain https addresses are linked, in both forms."""
    page = [Heading("t", 1), Items((Link("text", to),))]
    assert "<a" not in to_html(page)
    assert "](" not in to_markdown(page)
