"""What holds of every plan, over generated files and patches."""

from __future__ import annotations

import copy

from hypothesis import event, given
from hypothesis import strategies as st

from genesisd.patches.edits import AnchorEdit, Placement, Variant
from genesisd.patches.engine import plan
from genesisd.patches.outcome import AlreadyApplied, Applied
from genesisd.patches.scope import read
from genesisd.patches.stack import plan_all
from tests.unit.patches.made import FILE, patch

STATEMENTS = ("x = 1", "y = 'é€𝄞'", "x = 1; z = 2", "call(x)", "# note", "pass")
SCOPES = ("", "f", "g", "C", "C.m", "C.n", "f.<locals>.inner")


@st.composite
def files(draw) -> str:
    """A module with twins, in any style of bytes."""
    body = st.lists(st.sampled_from(STATEMENTS), max_size=3)
    unit = draw(st.sampled_from(["    ", "\t", "  "]))
    lines = [*draw(body)]
    for name in ("f", "g"):
        lines += ["@deco"] if draw(st.booleans()) else []
        lines += [f"def {name}():", *(unit + line for line in draw(body)), unit + "pass"]
        if draw(st.booleans()):
            lines += [f"{unit}def inner():", *(unit * 2 + line for line in draw(body)), unit * 2 + "pass"]
    lines += ["class C:", *(unit + line for line in draw(body))]
    for name in ("m", "n"):
        lines += [f"{unit}def {name}(self):", *(unit * 2 + line for line in draw(body)), unit * 2 + "pass"]
    ending, mark = draw(st.sampled_from(["\n", "\r\n"])), draw(st.sampled_from(["", "\ufeff"]))
    return mark + ending.join(lines) + draw(st.sampled_from(["", ending]))


@st.composite
def edits(draw, text: str, name: str) -> AnchorEdit:
    """An edit that has a fair chance: its anchor is a piece of the text, its scope any."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    lines = plain.splitlines(keepends=True)
    at = draw(st.integers(0, len(lines) - 1))
    anchor = "".join(lines[at : at + draw(st.integers(1, 2))])
    scope = draw(st.sampled_from(SCOPES))
    placement = draw(st.sampled_from(Placement))
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    added = indent + draw(st.sampled_from(["new = 1", "new = '𝄞'", "def new(): pass", "(", "return"])) + "\n"
    kept = draw(st.booleans())
    written = anchor + added if kept and placement is Placement.REPLACE else added
    return AnchorEdit(name, FILE, scope, (Variant(anchor, written),), placement, draw(st.booleans()))


@st.composite
def cases(draw, patches: int = 1):
    """A file, and patches for it of one or two edits each."""
    text = draw(files())
    made = [
        patch(*(draw(edits(text, f"e{n}")) for n in range(draw(st.integers(1, 2)))), id=f"P{index}")
        for index in range(patches)
    ]
    return text, made


@given(cases())
def test_a_second_plan_finds_the_first_applied(case):
    """Applying is idempotent, and what is not applied leaves no text."""
    text, (one,) = case
    outcome = plan({FILE: text}, one)
    event(type(outcome).__name__ + str(getattr(outcome, "fault", "")))
    if not isinstance(outcome, Applied):
        assert not hasattr(outcome, "texts")
        return
    assert outcome.texts[FILE] != text
    assert plan(outcome.texts, one) == AlreadyApplied()


@given(cases())
def test_nothing_but_the_spans_changes(case):
    """Outside the spans that an outcome names, and outside of the edits' scopes, every byte is as it was."""
    text, (one,) = case
    outcome = plan({FILE: text}, one)
    if not isinstance(outcome, Applied):
        return
    result, rest_before, rest_after = outcome.texts[FILE], text, outcome.texts[FILE]
    for cut in sorted(outcome.cuts, key=lambda cut: cut.anchor.start, reverse=True):
        assert result[cut.landed.start : cut.landed.end] == cut.text
        rest_before = rest_before[: cut.anchor.start] + rest_before[cut.anchor.end :]
        rest_after = rest_after[: cut.landed.start] + rest_after[cut.landed.end :]
    assert rest_before == rest_after
    untouched = [d for d in read(text).definitions if not any(d.span.overlaps(cut.anchor) for cut in outcome.cuts)]
    kept = [(d.name, result[d.head : d.span.end]) for d in read(result).definitions]
    assert all((d.name, text[d.head : d.span.end]) in kept for d in untouched)


@given(cases(patches=3), st.permutations(range(3)))
def test_order_means_nothing_where_none_is_declared(case, order):
    """Patches come to the same in any order, and so do those that applied, one after the other."""
    text, patches = case
    found = plan_all({FILE: text}, patches)
    assert plan_all({FILE: text}, [patches[index] for index in order]) == found
    applied = [p for p in patches if isinstance(found.outcomes[p.id], Applied)]
    event(f"{len(applied)} applied")
    if len(applied) == 1:
        assert found.texts == found.outcomes[applied[0].id].texts


@given(cases(patches=2))
def test_a_plan_changes_none_of_its_inputs(case):
    """Planning reads; texts and patches are as before."""
    text, patches = case
    texts, before = {FILE: text}, copy.deepcopy(patches)
    plan(texts, patches[0])
    plan_all(texts, patches)
    assert (texts, patches) == ({FILE: text}, before)


@given(cases(patches=2))
def test_what_fails_leaves_no_trace(case):
    """The result with a patch that does not apply is the result without it."""
    text, patches = case
    found = plan_all({FILE: text}, patches)
    applied = [p for p in patches if isinstance(found.outcomes[p.id], Applied)]
    if len(applied) == len(patches) or any(getattr(o, "fault", "") == "overlap" for o in found.outcomes.values()):
        return
    assert plan_all({FILE: text}, applied).texts == found.texts
