"""Which patches a worker gets, from everything that is declared and known about it: before any file is looked at."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import genesisd
from genesisd.attest import PLUGIN
from genesisd.config.accounts import PHANTOM
from genesisd.patches.build_key import build_key
from genesisd.patches.candidate import candidate_warnings
from genesisd.patches.compatibility import advice, blocked, conflict_sets
from genesisd.patches.environ import Contradiction, Undeclared, environ_problems
from genesisd.patches.facts import Known
from genesisd.patches.flags import ENABLE
from genesisd.patches.known_bad import Bad, Start, known_bad
from genesisd.patches.model import Patch
from genesisd.patches.native import duplicates
from genesisd.patches.parameters import BadValue
from genesisd.patches.policy import PolicyPlan, apply_policy
from genesisd.patches.resolve import Request, Resolution, resolve
from genesisd.patches.spec import Role
from genesisd.patches.verdicts import broken
from genesisd.supervisor.spec import WorkerSpec
from genesisd.versions import parse_version
from genesisd.wiring.starts import KEPT, PatchNote

_NOT_IMPLEMENTED = PatchNote("unknown", "no patch of this id is implemented")


@dataclass(frozen=True, slots=True)
class Selection:
    """What is to be applied, and what speaks against a start.

    Attributes:
        plan: what the policy made of the environment.
        resolution: the verdict of the gates on each patch.
        faults: why the worker may not start, each with what to do.
        warnings: what a person should know.
    """

    plan: PolicyPlan
    resolution: Resolution
    faults: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def environ(self) -> Mapping[str, str]:
        """The worker's environment."""
        return self.plan.environ

    @property
    def patches(self) -> tuple[str, ...]:
        """Ids to apply, in order; none for a worker that runs the plain pin."""
        return self.resolution.selected


def select(
    spec: WorkerSpec,
    version: str,
    known: Known,
    patches: Sequence[Patch],
    quarantined: Mapping[str, str] = MappingProxyType({}),
) -> Selection:
    """What ``patches`` come to for one worker on one version of the engine; ``quarantined`` ones are left out."""
    declared, program = spec.patches, genesisd.__version__
    conflicts = conflict_sets(declared.lane, known, declared.waive)
    plan = apply_policy(spec.env, declared.policy, declared.attribution, patches, program, conflicts)
    request = Request(
        version=parse_version(version),
        environ=plan.environ,
        program=program,
        facts=known.facts,
        allow_retired=frozenset(declared.allow_retired),
        conflicts=conflicts,
        quarantined=quarantined,
    )
    resolution = resolve(patches, request)
    start = Start(plan.environ, patches, resolution.selected, declared.extra_env)
    bad = known_bad(version, known, start, declared.waive)
    faults = (*_faults(spec, known, patches, resolution), *_told(bad, grave=True))
    warnings = (
        *plan.warnings,
        *candidate_warnings(declared.attribution, known, resolution.selected),
        *advice(declared.lane, resolution.selected, known),
        *duplicates(version, resolution.selected),
        *_idle(plan.environ, patches, resolution),
        *_told(bad, grave=False),
    )
    return Selection(plan, resolution, faults, tuple(dict.fromkeys(warnings)))


def _idle(environ: Mapping[str, str], patches: Sequence[Patch], resolution: Resolution) -> Iterator[str]:
    """Parameters that nobody reads, since their patch is not applied: they are declared, and do nothing."""
    for patch in patches:
        gate = resolution.rulings[patch.id].gate
        for name in (name for one in patch.parameters for name in (one.name, *one.aliases)):
            if gate is not None and name in environ:
                yield f"{name} does nothing: {patch.id}, which reads it, is not applied ({gate})"


def _faults(spec: WorkerSpec, known: Known, patches: Sequence[Patch], resolution: Resolution) -> Iterator[str]:
    """What forbids the start, besides sets of flags that are known to be bad."""
    for problem in environ_problems(spec.env, patches, spec.patches.extra_env):
        if isinstance(problem, BadValue):
            yield f"{problem.name}={problem.found!r} cannot be used: expected {problem.expected}"
        elif isinstance(problem, Contradiction):
            yield str(problem)
    for chain in resolution.broken:
        yield f"{broken(chain)}; switch the dependants off, or the base on"
    optimize = spec.env.get("PYTHONOPTIMIZE", "")
    if resolution.selected and optimize not in {"", "0"}:
        told = f"PYTHONOPTIMIZE={optimize} has Python compile other code than that of the build, which is then refused"
        yield f"{told}; take it out of the worker's env"
    for one in blocked(spec.patches.lane, resolution.selected, known, spec.patches.waive):
        yield f"{one.text}; switch it off, or waive it by name (patches.waive: [{one.waive}])"


def unmended(
    spec: WorkerSpec, version: str, known: Known, patches: Sequence[Patch], selection: Selection, there: Sequence[str]
) -> tuple[str, ...]:
    """The known-bad sets of flags that a selected patch would have mended, and that those which are there do not."""
    start = Start(selection.environ, patches, there, spec.patches.extra_env)
    return tuple(_told(known_bad(version, known, start, spec.patches.waive), grave=True))


def lacking(
    spec: WorkerSpec,
    version: str,
    known: Known,
    patches: Sequence[Patch],
    selection: Selection,
    notes: Mapping[str, PatchNote],
) -> tuple[str, ...]:
    """What the worker may not start without, once it is known what became of each patch; each with what to do."""
    there = [name for name, note in notes.items() if note.verdict in KEPT]
    texts = [*unmended(spec, version, known, patches, selection, there)]
    for name in bearing(spec):
        if name not in there and name not in spec.patches.waive:
            note = notes.get(name, _NOT_IMPLEMENTED)
            text = f"{name} is load bearing and would not be there: {note.verdict}, {note.text}"
            texts.append(f"{text}; mend it, or waive it by name (patches.waive: [{name}])")
    return tuple(texts)


def bearing(spec: WorkerSpec) -> list[str]:
    """Ids that the worker cannot do without."""
    return [name for name, entry in spec.patches.attribution.items() if entry.role is Role.LOAD_BEARING]


def unpatchable(spec: WorkerSpec, patches: Sequence[Patch]) -> str | None:
    """What a worker with a command of its own asks of patches, of which it gets none: it would silently do nothing."""
    problems = environ_problems(spec.env, patches, spec.patches.extra_env)
    undeclared = [one.name for one in problems if PHANTOM not in spec.patches.waive or not isinstance(one, Undeclared)]
    switches = [name for name in spec.env if name.startswith(ENABLE) and name not in spec.patches.extra_env]
    needed = [name for name in bearing(spec) if name not in spec.patches.waive]
    asked = ", ".join(dict.fromkeys([*undeclared, *switches, *needed]))
    if not asked:
        return None
    text = f"only a worker with a 'pin' gets patches, and this one has a command of its own and {asked}"
    return f"{text}; take that out, list switches under patches.extra_env, or set a pin"


def _told(found: Sequence[Bad], *, grave: bool) -> Iterator[str]:
    for one in found:
        if (one.severity == "error" and one.certain) is grave:
            way_out = f"; {one.mend}, or waive it by name (patches.waive: [{one.id}])" if grave else f"; {one.mend}"
            yield one.text + way_out


def key_of(selection: Selection, patches: Sequence[Patch], environment: str) -> str | None:
    """Address of the build; None for a worker that needs none."""
    chosen = [patch for patch in patches if patch.id in selection.patches]
    return build_key(environment, chosen, plugin_hash()) if chosen else None


@cache
def plugin_hash() -> str:
    """Of the plugin that every build has a copy of."""
    return hashlib.sha256(PLUGIN.read_bytes()).hexdigest()
