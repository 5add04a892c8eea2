"""Why a worker runs a patch, or does not, in plain sentences. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import genesisd
from genesisd.config import Explained
from genesisd.patches.conditions import AllOf, AnyOf, Condition, Fact, Is, Not, Within
from genesisd.patches.environ import variables_of
from genesisd.patches.model import Patch
from genesisd.patches.policy import role_of
from genesisd.patches.resolve import Gate
from genesisd.patches.spec import Role
from genesisd.patches.switches import owners, read_switch
from genesisd.patches.verdicts import Verdict
from genesisd.patchtool.entries import variable
from genesisd.patchtool.facts import condition_text
from genesisd.patchtool.workers import UNKNOWN, Asked, Planned, Standing

THERE = {Verdict.APPLIED, Verdict.ALREADY_APPLIED}
_TOLD_BY_SWITCH = {Gate.DISABLED, Gate.NOT_ENABLED}


@dataclass(frozen=True, slots=True)
class Question:
    """One patch and one worker, with all that was found."""

    patch: Patch
    patches: Sequence[Patch]
    asked: Asked
    found: Planned

    @property
    def standing(self) -> Standing:
        """What becomes of it."""
        return self.found.standings[self.patch.id]

    @property
    def layers(self) -> list[Explained]:
        """Where each value was written that concerns the patch: its variables, those of its coordinators, its role."""
        group = list(owners(self.patch, self.patches))
        fields = [f"env.{key}" for owner in group for key in variables_of(owner)]
        fields += ["patches.policy", "patches.lane", "patches.waive", "patches.allow_retired"]
        fields += [f"patches.attribution.{owner.id}.role" for owner in group]
        return [one for field in fields if (one := self.asked.written.get(field))]

    @property
    def facts(self) -> dict[str, object]:
        """The facts that the patch asks for, as far as they are known."""
        known = self.asked.known.facts
        return {str(fact): known.get(fact, "cannot tell") for fact in facts_in(self.patch.applies_to)}


def paragraph(question: Question) -> str:
    """All of it: the answer first, then who said what, then the gates in their order."""
    parts = (_answer, _switch, _role, _policy, _gate, _condition, _tree, _notes, _faults)
    return " ".join(sentence for part in parts for sentence in part(question))


def _answer(question: Question) -> Iterator[str]:
    verdict, patch, asked = question.standing.verdict, question.patch, question.asked
    words = "is applied" if verdict in THERE else "is not applied"
    words = "would be applied, as far as can be told," if verdict == UNKNOWN else words
    yield f"{patch.id} ({patch.title}) {words} for worker {asked.name} on pin {asked.pin.id} (vLLM {asked.pin.version})."


def _switch(question: Question) -> Iterator[str]:
    patch, environ = question.patch, question.asked.spec.env
    reading = read_switch(patch, question.patches, environ, genesisd.__version__)
    if reading.by:
        word = reading.switch.name.lower()
        yield f"It is switched {word} by {reading.by}={environ[reading.by]}{_place(question, f'env.{reading.by}')}."
    elif patch.default_on:
        yield f"Nothing switches it, and it is on by default: {patch.default_on}."
    elif patch.flag is None:
        yield "Nothing switches it on, and it has no switch of its own."
    else:
        yield f"Nothing switches it on; {variable(patch)}=1 in the worker's env would."
    for one in question.layers:
        if one.field.startswith("env.") and one.field != f"env.{reading.by}":
            yield f"{one.field.removeprefix('env.')} is {one.value}{_place(question, one.field)}."


def _place(question: Question, field: str) -> str:
    """The layer that a value comes from, and where in it."""
    one = question.asked.written.get(field)
    return f" (from {one.layer}, {one.file}:{one.line})" if one else ""


def _role(question: Question) -> Iterator[str]:
    attribution, patch = question.asked.spec.patches.attribution, question.patch
    role = role_of(patch, question.patches, attribution)
    if role is not Role.UNKNOWN:
        note = (attribution[patch.id].note if patch.id in attribution else None) or ""
        place = _place(question, f"patches.attribution.{patch.id}.role")
        yield f"Its role there is {role}{place}" + (f": {note.rstrip('.')}." if note else ".")


def _policy(question: Question) -> Iterator[str]:
    plan = question.found.selection.plan
    if plan.policy is None:
        return
    reason, place = plan.excluded.get(question.patch.id, ""), _place(question, "patches.policy")
    if question.patch.id in plan.included:
        yield f"Policy {plan.policy}{place} leaves it in."
    elif "drops" in reason:
        yield f"It is left out, since {reason}{place}."


def _gate(question: Question) -> Iterator[str]:
    standing = question.standing
    if standing.verdict in set(Gate) - _TOLD_BY_SWITCH:
        yield f"The gate {standing.verdict!r} is shut: {standing.text}."


def _condition(question: Question) -> Iterator[str]:
    if question.facts:
        known = ", ".join(f"{fact}: {value}" for fact, value in question.facts.items())
        yield f"It applies where {condition_text(question.patch.applies_to)}; known here is {known}."


def _tree(question: Question) -> Iterator[str]:
    standing, pin = question.standing, question.asked.pin.id
    if standing.verdict == UNKNOWN:
        yield f"Whether its edits have their places cannot be told: the tree of pin {pin} is not on this box."
    elif standing.verdict == Verdict.APPLIED:
        yield "All of its edits have their places in the pin's tree."
    elif standing.verdict in set(Verdict):
        yield f"On the pin's tree the verdict is {standing.verdict!r}: {standing.text}."


def _notes(question: Question) -> Iterator[str]:
    yield from (f"Note: {note}." for note in question.standing.notes)


def _faults(question: Question) -> Iterator[str]:
    faults = question.found.selection.faults
    if faults:
        yield f"The worker would not be started at all: {'; '.join(faults)}."


def facts_in(condition: Condition) -> list[Fact]:
    """The facts that a condition asks for, each once."""
    match condition:
        case Is() | Within():
            return [condition.fact]
        case Not():
            return facts_in(condition.part)
        case AllOf() | AnyOf():
            return list(dict.fromkeys(fact for part in condition.parts for fact in facts_in(part)))
