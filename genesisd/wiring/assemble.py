"""``python -m genesisd.wiring.assemble``: plan the selected patches on a pin's tree and make the build of them.

A process of its own: planning parses the engine's files, and a build writes for a second; the daemon does neither.
One JSON object comes in (``Job``), one goes out a line: progress, and last ``{"built": NAME}`` or
``{"failed": TEXT, "hint": ...}``. Exit status: 0 built or there already, 1 not.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from genesisd.attest import PLUGIN
from genesisd.errors import ConflictError, GenesisError, NotFoundError, UnavailableError
from genesisd.patches.catalog import catalog
from genesisd.patches.edits import MODULE
from genesisd.patches.model import Patch
from genesisd.patches.outcome import Applied, Outcome
from genesisd.patches.reading import read_texts
from genesisd.patches.stack import StackPlan, plan_all
from genesisd.patches.verdicts import broken, sentence, verdict
from genesisd.pins.build_manifest import Build
from genesisd.pins.builds import find_build, make_build
from genesisd.pins.catalog import find_pin, load_pins
from genesisd.pins.environment import Environment, find_environment
from genesisd.pins.install import site_packages
from genesisd.pins.progress import Progress, Report
from genesisd.pins.recipe import Recipe

_UNUSABLE = (
    "a build is made in the cache: let it be written, or make the build where it can be (genesisctl patches build)"
)


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be built.

    Attributes:
        pins: the pins file.
        pin: id in it.
        cache: where environments and builds are.
        key: the build's address.
        patches: ids of the selected patches.
    """

    pins: str
    pin: str
    cache: str
    key: str
    patches: tuple[str, ...]


def assemble(job: Job, report: Report) -> Build:
    """The build of ``job``, made unless it is there. Blocks.

    Raises:
        UnavailableError: the pin is not built.
        ConflictError: a chain of patches is broken, so that nothing may be applied.
        ConfigError: a file of the tree cannot be read.
        GenesisError: the build could not be made.
    """
    cache = Path(job.cache)
    environment = find_environment(find_pin(load_pins(Path(job.pins)), job.pin), cache)
    if environment is None:
        raise UnavailableError(f"pin {job.pin} is not built", hint=f"genesisctl pins build {job.pin}")
    found = find_build(cache, environment.name, job.key)
    return found or make_build(cache, environment, recipe(job.key, chosen(job.patches), environment), report)


def chosen(ids: Sequence[str]) -> list[Patch]:
    """The patches of these ids. Raises NotFoundError."""
    by_id = {patch.id: patch for patch in catalog()}
    if unknown := [name for name in ids if name not in by_id]:
        raise NotFoundError(f"no patch {unknown[0]} is implemented", hint="genesisctl patches list")
    return [by_id[name] for name in ids]


def recipe(key: str, patches: Sequence[Patch], environment: Environment) -> Recipe:
    """What the patches make of the environment's tree. Raises ConflictError for a broken chain."""
    pristine = read_texts(site_packages(environment.path), patches)
    plan = plan_all(pristine, patches)
    if plan.broken:
        raise ConflictError("; ".join(map(broken, plan.broken)), hint="switch the dependants off, or the base on")
    return Recipe(
        key=key,
        files=plan.texts,
        whole=_whole(plan, pristine),
        scopes=_scopes(plan),
        plugin=PLUGIN,
        proofs=_proofs(patches, plan),
        notes=notes(patches, plan),
    )


def notes(patches: Sequence[Patch], plan: StackPlan) -> dict[str, Any]:
    """What the manifest keeps of the plan, for those who only have the build."""
    told = {name: _told(outcome) for name, outcome in plan.outcomes.items()}
    return {"patches": told, "proofs": _proofs(patches, plan)}


def _proofs(patches: Sequence[Patch], plan: StackPlan) -> dict[str, list[dict[str, str]]]:
    """The signs of life of what is applied."""
    return {
        patch.id: [
            {"role": one.role} | ({"counter": one.counter} if one.counter else {"log": one.log}) for one in patch.proofs
        ]
        for patch in patches
        if patch.proofs and isinstance(plan.outcomes[patch.id], Applied)
    }


def _told(outcome: Outcome) -> dict[str, str]:
    return {"verdict": str(verdict(outcome)), "text": sentence(outcome)}


def _scopes(plan: StackPlan) -> dict[str, list[list[str]]]:
    """Where each patch changes something: file and qualified name. An optional edit that was skipped does not."""
    found = {}
    for name, outcome in plan.outcomes.items():
        if isinstance(outcome, Applied):
            places = [(cut.path, cut.scope) for cut in outcome.cuts] + [(path, MODULE) for path in outcome.whole]
            found[name] = [list(place) for place in dict.fromkeys(places)]
    return found


def _whole(plan: StackPlan, pristine: Mapping[str, str]) -> dict[str, Literal["new", "replaced"]]:
    paths = [path for outcome in plan.outcomes.values() if isinstance(outcome, Applied) for path in outcome.whole]
    return {path: "replaced" if path in pristine else "new" for path in paths}


def main() -> int:
    """Read a job, do it, tell it; the exit status."""
    try:
        asked = json.load(sys.stdin)
        job = Job(asked["pins"], asked["pin"], asked["cache"], asked["key"], tuple(asked["patches"]))
        build = assemble(job, _tell)
    except GenesisError as error:
        _say(failed=error.message, hint=error.hint, code=error.code)
        return 1
    except OSError as error:
        if error.filename is None:
            raise
        _say(failed=f"{os.fsdecode(error.filename)}: {error.strerror}", hint=_UNUSABLE, code="unavailable")
        return 1
    except Exception as error:
        # Else the last thing said, which is a step of the work, would be told as the reason.
        _say(failed=f"{type(error).__name__}: {error}", hint="the daemon's log has the rest")
        raise
    _say(built=build.name)
    return 0


def _tell(progress: Progress) -> None:
    _say(step=progress.step, message=progress.message)


def _say(**content: object) -> None:
    sys.stdout.write(json.dumps(content) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
