"""Which of the patches that are switched on a policy leaves in, and the environment that says so. Pure.

A policy only ever takes away: no patch is on afterwards that was not before. That is why what switches a patch off
is dropped only where nothing else would then switch it on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from genesisd.patches.flags import DISABLE, ENABLE, Reading, Switch, read_flag, variables
from genesisd.patches.model import ConflictSet, Patch
from genesisd.patches.spec import Attribution, Policy, Role
from genesisd.patches.switches import is_on, owners, read_switch, switched_on

DROPS: Mapping[Policy, frozenset[Role]] = MappingProxyType(
    {
        Policy.COMPAT: frozenset(),
        Policy.SAFE: frozenset({Role.NO_OP}),
        Policy.MINIMAL: frozenset({Role.NO_OP, Role.SUSPECTED_REGRESSION, Role.UNKNOWN}),
    }
)


@dataclass(frozen=True, slots=True)
class PolicyPlan:
    """What came of a policy.

    Attributes:
        policy: which one; None for none.
        environ: what the worker is to be given; without a policy the very mapping that came in.
        included: ids that are on, sorted.
        excluded: ids that were asked for or switched off, and are off now, each with the reason.
        passthrough: keys that are no switch of a known patch: parameters and everything else.
        warnings: what a person should know.
    """

    policy: Policy | None
    environ: Mapping[str, str]
    included: tuple[str, ...]
    excluded: Mapping[str, str]
    passthrough: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def apply_policy(
    environ: Mapping[str, str],
    policy: Policy | None,
    attribution: Mapping[str, Attribution],
    patches: Sequence[Patch],
    program: str,
    conflicts: Sequence[ConflictSet] = (),
) -> PolicyPlan:
    """What ``policy`` makes of ``environ``.

    A switch that belongs to no patch of the catalog is passed on: the check of the environment has to see it.
    """
    readings = {patch.id: read_switch(patch, patches, environ, program) for patch in patches}
    excluded = {} if policy is None else dict(_excluded(policy, attribution, patches, readings))
    after = environ if policy is None else _without(environ, excluded, patches, program)
    included = switched_on(patches, after, program)
    stuck = [
        f"{name} has no switch of its own and stays on ({excluded.pop(name)})" for name in included if name in excluded
    ]
    toggles = {name for patch in patches if patch.flag for name in variables(patch.flag, program)}
    notes = tuple(dict.fromkeys(note for _, reading in sorted(readings.items()) for note in reading.notes))
    return PolicyPlan(
        policy,
        after,
        included,
        dict(sorted(excluded.items())),
        tuple(name for name in after if name not in toggles),
        (*notes, *stuck, *_clashes(included, excluded, patches, conflicts)),
    )


def role_of(patch: Patch, patches: Sequence[Patch], attribution: Mapping[str, Attribution], by: str = "") -> Role:
    """The role that is declared for ``patch``, or else for the coordinator whose flag ``by`` switches it on."""
    for owner in owners(patch, patches):
        names = () if owner.flag is None else (owner.flag.name, *(alias.name for alias in owner.flag.aliases))
        if owner.id in attribution and (owner is patch or by in {prefix + name for prefix in ENABLE for name in names}):
            return attribution[owner.id].role
    return Role.UNKNOWN


def _excluded(
    policy: Policy,
    attribution: Mapping[str, Attribution],
    patches: Sequence[Patch],
    readings: Mapping[str, Reading],
) -> Iterator[tuple[str, str]]:
    for patch in patches:
        reading = readings[patch.id]
        role = role_of(patch, patches, attribution, reading.by)
        # The reason that a default has to give accounts for it.
        accounted = reading.switch is Switch.UNSET and role is Role.UNKNOWN
        if reading.switch is Switch.OFF:
            yield patch.id, f"switched off by {reading.by}"
        elif is_on(patch, reading) and role in DROPS[policy] and not accounted:
            yield patch.id, f"{policy} drops role {role}"


def _without(
    environ: Mapping[str, str], excluded: Mapping[str, str], patches: Sequence[Patch], program: str
) -> dict[str, str]:
    """``environ`` less the switches of what is excluded, and more of them where one is needed to keep it off."""
    out = [patch for patch in patches if patch.id in excluded]
    enabling = {
        name for patch in out if patch.flag for name in variables(patch.flag, program) if name.startswith(ENABLE)
    }
    after = {name: value for name, value in environ.items() if name not in enabling}
    for patch in out:
        if patch.flag is None or not is_on(patch, read_switch(patch, patches, after, program)):
            continue
        own = read_flag(patch.flag, environ, program)
        if own.switch is Switch.OFF:
            after[own.by] = environ[own.by]
        else:
            after[DISABLE[0] + patch.flag.name] = "1"
    return after


def _clashes(
    included: Sequence[str], excluded: Mapping[str, str], patches: Sequence[Patch], conflicts: Sequence[ConflictSet]
) -> Iterator[str]:
    on = set(included)
    for patch in sorted((patch for patch in patches if patch.id in on), key=lambda patch: patch.id):
        for other in sorted(on.intersection(patch.conflicts)):
            yield f"{patch.id} conflicts with {other}: neither will be applied"
        for other in sorted(set(patch.requires).intersection(excluded)):
            yield f"{patch.id} requires {other}, which is left out ({excluded[other]}): it will not be applied"
    for one in sorted(conflicts, key=lambda one: one.name):
        if one.members <= on:
            yield f"{', '.join(sorted(one.members))} may not be applied together: {one.reason}"


@dataclass(frozen=True, slots=True)
class PlanDiff:
    """How two plans for one worker differ.

    Attributes:
        only_first: ids that only the first includes.
        only_second: ids that only the second includes.
        why: for each of them the reason of the plan that leaves it out.
        environ: keys whose values differ, with both; None where a key is absent.
    """

    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    why: Mapping[str, str]
    environ: Mapping[str, tuple[str | None, str | None]]


def diff(first: PolicyPlan, second: PolicyPlan) -> PlanDiff:
    """What changes from ``first`` to ``second``."""
    one, other = set(first.included), set(second.included)
    reasons = {**first.excluded, **second.excluded}
    keys = sorted({*first.environ, *second.environ})
    pairs = {key: (first.environ.get(key), second.environ.get(key)) for key in keys}
    return PlanDiff(
        tuple(sorted(one - other)),
        tuple(sorted(other - one)),
        {name: reasons[name] for name in sorted(one ^ other) if name in reasons},
        {key: pair for key, pair in pairs.items() if pair[0] != pair[1]},
    )
