"""Ours beside upstream's, edit by edit: what must lie before a person who retires a patch. Pure.

That upstream merged "the same" proves little: of five patches once up for retirement by dates alone, all five did
something that upstream's change did not. So each edit is held against the pin's own text, and behaviour tests, where
there are any, have the last word: where the pin alone fails what it passes with ours, ours stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff

from genesisd.watch.decisions import Dossier, EditDossier, Outcome
from genesisd.watch.diffs import FileChange, Hunk
from genesisd.watch.model import Content, ContentFact
from genesisd.watch.places import look
from genesisd.watch.refs import Ref
from genesisd.watch.text import Text, bare, defined, read_text, telling, words

LONGEST = 200
"""Lines of an excerpt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OurEdit:
    """One edit of ours.

    Attributes:
        id, path: which, and in what file.
        scope: the class or function, "" for the module.
        required: the patch cannot do without.
        variants: text before and after, one pair for each form of the place; "" before for a new file.
    """

    id: str
    path: str
    scope: str = ""
    required: bool = True
    variants: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A behaviour test on the pin without our patch and with it; None: it was not run, or came to nothing.

    Attributes:
        name: the file of the test.
        without, with_ours: whether it passes.
        on: the pin on which it was run with ours, where that is another one: this one takes the patch no more.
        why: what kept it from being run, or "".
        no_environment: ids of pins on which nothing but the lack of one kept it from being run.
    """

    name: str
    without: bool | None = None
    with_ours: bool | None = None
    on: str = ""
    why: str = ""
    no_environment: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """Such as ``fails without, passes with ours``."""
        words = {True: "passes", False: "fails", None: "was not run"}
        on, why = f" on {self.on}" if self.on else "", f" ({self.why})" if self.why else ""
        return f"{words[self.without]} without, {words[self.with_ours]} with ours{on}{why}"


def compare(
    patch: str,
    edits: Sequence[OurEdit],
    ref: Ref,
    pin: str,
    *,
    changes: Sequence[FileChange],
    texts: Mapping[str, str],
    content: ContentFact,
    tests: Sequence[Trial] = (),
    now: float,
) -> Dossier:
    """The dossier of one patch against one pull request.

    Args:
        patch: id of ours.
        edits: what it does.
        ref: the pull request.
        pin: id of the pin.
        changes: upstream's diff; empty where there is none.
        texts: the pin's untouched files.
        content: whether the pin has the pull request's content.
        tests: of the patch's behaviour.
        now: wall time.
    """
    held = tuple(_edit(edit, changes, texts) for edit in edits)
    required = [one for one, edit in zip(held, edits, strict=True) if edit.required] or list(held)
    outcome, reason = _outcome([one.covered for one in required], content, tests)
    return Dossier(
        patch=patch,
        ref=ref,
        pin=pin,
        outcome=outcome,
        edits=held,
        tests={test.name: test.told for test in tests},
        ran=tuple(test.name for test in tests if test.without is not None),
        made_at=now,
        reason=reason,
        no_environment=tuple(dict.fromkeys(pin for test in tests for pin in test.no_environment)),
    )


def _outcome(covered: Sequence[bool | None], content: ContentFact, tests: Sequence[Trial]) -> tuple[Outcome, str]:
    has = covered.count(True)
    of = f"{has} of {len(covered)} edits"
    failing = [test.name for test in tests if test.without is False and test.with_ours]
    if failing:
        return Outcome.KEEP, f"{', '.join(failing)} fails on the pin alone and passes with ours"
    if content.content is Content.ABSENT:
        return Outcome.KEEP, f"the pin does not have it: {content.evidence}"
    passing = [test.name for test in tests if test.without]
    shows = _shown(tests, passing)
    if covered and has == len(covered):
        # Ours can no longer be tried beside it: nobody can say that upstream's does what ours did.
        unmended = any(test.without is False and test.with_ours is None for test in tests)
        return Outcome.DIFFERENT if unmended else Outcome.RETIRE, f"the pin's own text has all {has} edits{shows}"
    if has and False in covered:
        return Outcome.PARTIAL, f"the pin's own text has {of}, and upstream left the place of others as it was"
    if None in covered or passing:
        return Outcome.DIFFERENT, f"the pin's own text has {of}, and goes another way in the rest{shows}"
    return Outcome.KEEP, f"upstream left the places of all {len(covered)} edits as they were{shows}"


def _shown(tests: Sequence[Trial], passing: Sequence[str]) -> str:
    if passing:
        return f"; without ours the pin passes {', '.join(passing)}"
    if failing := [test for test in tests if test.without is False]:
        both = ", with ours too" if all(test.with_ours is False for test in failing) else ""
        return f"; and yet {', '.join(test.name for test in failing)} fails on it{both}"
    why = "; ".join(test.why for test in tests if test.why)
    return f"; no test of ours was run on it{f' ({why})' if why else ''}"


def _edit(edit: OurEdit, changes: Sequence[FileChange], texts: Mapping[str, str]) -> EditDossier:
    hunks = [hunk for one in changes if edit.path in {one.before, one.after} for hunk in one.hunks]
    if edit.path not in texts:
        return _held(edit, edit.variants[0], "", None, f"{edit.path} is not there")
    text = read_text(texts[edit.path])
    near = [hunk for hunk in hunks if _concerns(hunk, text, edit.scope)]
    variant = next((one for one in edit.variants if _has(text, edit.scope, one[0])), edit.variants[0])
    upstreams = _excerpt(near, edit.path) if near else _own(text, edit.scope)
    brought = next((one for one in edit.variants if _brings(text, edit.scope, one)), None)
    if brought is not None and _is_untouched(text, edit.scope, brought):
        return _held(edit, brought, upstreams, None, "its lines stand elsewhere there, and its own place is as it was")
    if brought is not None:
        return _held(edit, brought, upstreams, True, "the pin's own text has what it brings")
    if not _has(text, edit.scope, variant[0]):
        return _held(edit, variant, upstreams, None, "the place was rewritten, and not as ours does")
    if near:
        return _held(edit, variant, upstreams, None, f"upstream left its anchor, and changes {_scope(edit)} around it")
    if changes:
        return _held(edit, variant, upstreams, False, "upstream left the place as it was")
    return _held(edit, variant, upstreams, None, "the place is as it was; what upstream changes is not known")


def _held(edit: OurEdit, variant: tuple[str, str], upstreams: str, covered: bool | None, text: str) -> EditDossier:
    before, after = (one.splitlines() for one in variant)
    ours = "\n".join(unified_diff(before, after, f"a/{edit.path}", f"b/{edit.path}", lineterm="", n=3))
    return EditDossier(edit=edit.id, path=edit.path, ours=ours, upstreams=upstreams, covered=covered, text=text)


def _brings(text: Text, scope: str, variant: tuple[str, str]) -> bool:
    """Whether the scope has every telling line that ours adds, and none of those that ours takes away."""
    before, after = (bare(one.splitlines()) for one in variant)
    there = {_said(line) for line in _lines(text, scope)}
    added = {_said(line) for line in after if telling((line,))} - {_said(line) for line in before}
    taken = {_said(line) for line in before if telling((line,))} - {_said(line) for line in after}
    if not added:
        return bool(taken) and not taken & there
    return added <= there and not taken & there


def _said(line: str) -> tuple[int, tuple[str, ...]]:
    """Its words, and how deep: a line that left its condition is another. Other layout and comments are nobody's merit."""
    return len(line) - len(line.lstrip()), words((line,))


def _is_untouched(text: Text, scope: str, variant: tuple[str, str]) -> bool:
    """Whether the place is as ours finds it, and nowhere as ours leaves it: then equal lines elsewhere prove nothing."""
    there, before, after = (
        _chain(lines) for lines in (_lines(text, scope), variant[0].splitlines(), variant[1].splitlines())
    )
    return len(before) > 1 and before in there and after not in there


def _chain(lines: Sequence[str]) -> str:
    return "\0".join(("", *words(lines), ""))


def _has(text: Text, scope: str, block: str) -> bool:
    wanted = "\n".join(bare(block.split("\n"))).strip("\n")
    return bool(wanted) and wanted in "\n".join(_lines(text, scope))


def _lines(text: Text, scope: str) -> tuple[str, ...]:
    if not scope:
        return text.lines
    return tuple(line for part in text.definitions(scope.replace(".<locals>", "")) for line in part.split("\n"))


def _concerns(hunk: Hunk, text: Text, scope: str) -> bool:
    """Whether upstream's hunk lies in the scope of our edit."""
    if not scope:
        return True
    names = scope.replace(".<locals>", "").split(".")
    placed = [seen.scope for seen in look(text, hunk) if seen.line]
    if placed:
        return any(one.split(".")[: len(names)] == names for one in placed)
    return defined(hunk.heading) in names or any(defined(line) == names[-1] for _, line in hunk.lines)


def _excerpt(hunks: Sequence[Hunk], path: str) -> str:
    lines = [f"a/{path} b/{path}"]
    for hunk in hunks:
        lines.append(f"@@ -{hunk.old_start} +{hunk.new_start} @@ {hunk.heading}".rstrip())
        lines += [sign + line.rstrip("\r\n") for sign, line in hunk.lines]
    return _cut(lines)


def _own(text: Text, scope: str) -> str:
    return _cut(_lines(text, scope)) if scope else ""


def _cut(lines: Sequence[str]) -> str:
    more = [f"... {len(lines) - LONGEST} lines more"] if len(lines) > LONGEST else []
    return "\n".join([*lines[:LONGEST], *more])


def _scope(edit: OurEdit) -> str:
    return edit.scope or "the module"
