"""What the judge can have done: what could be done now, going back to a proven build, looking for the patch to blame."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from genesisd.judge.model import Means
from genesisd.patches.model import Patch
from genesisd.patches.order import levels
from genesisd.supervisor.model import Event
from genesisd.supervisor.spec import WorkerSpec
from genesisd.supervisor.supervisor import Supervisor
from genesisd.wiring.bisection import Bisections
from genesisd.wiring.bisection_case import Case
from genesisd.wiring.patched import Patched
from genesisd.wiring.rollbacks import Rollbacks
from genesisd.wiring.starts import Start, absent, in_build


@dataclass(slots=True)
class JudgeActs:
    """Implements ``desk.Acts``."""

    specs: Callable[[], Mapping[str, WorkerSpec]]
    supervisor: Callable[[], Supervisor]
    patched: Patched
    rollbacks: Rollbacks
    bisections: Callable[[], Bisections]
    catalog: Callable[[], Sequence[Patch]]
    tell_back: Callable[[str, bool], None]

    def means(self, worker: str) -> Means:
        """What could be done now."""
        running = self.running(worker)
        back = self.rollbacks.target(worker, running)
        there = back is not None and self.patched.can_go_back(worker, back)
        return Means(rollback=there, bisect=running is not None and bool(in_build(running)))

    def roll_back(self, worker: str) -> str:
        """Let the next life run the last proven build."""
        start = self.rollbacks.target(worker, self.running(worker))
        if start is None:
            return ""
        self.rollbacks.go_back(worker, start, self.specs()[worker])
        self.tell_back(worker, True)
        return start.build or f"{start.pin} without patches"

    def bisect(self, worker: str, kinds: tuple[str, ...], text: str) -> None:
        """Keep the next life back until the guilty patch is found."""
        running = self.running(worker)
        pin = (running.pin if running else None) or self.specs()[worker].pin or ""
        patches = ordered(in_build(running) if running else (), self.catalog())
        why = text.partition(", since ")[2] or text  # that a patch is looked for is said by whoever tells of the search
        self.bisections().begin(worker, Case(kinds, pin, patches, {}, why, absent(running) if running else ()))

    def post(self, worker: str, event: Event) -> None:
        """Tell the worker's actor."""
        if (actor := self.supervisor().actors.get(worker)) is not None:
            actor.post(event)

    def running(self, worker: str) -> Start | None:
        """What the newest life was started with."""
        actor = self.supervisor().actors.get(worker)
        return None if actor is None else self.patched.running(worker, actor.state.incarnation)


def ordered(names: Sequence[str], catalog: Sequence[Patch]) -> tuple[str, ...]:
    """The same in the order of application."""
    chosen = [patch for patch in catalog if patch.id in names]
    return tuple(name for level in levels(chosen) for name in level)
