"""A simulated box for one worker: processes, a shim, a card, a front and a daemon that may die at any step.

The world keeps its own books (what lives, what was asked, when) and checks the invariants against them; it never
looks into the state machine to decide what is right.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field, replace

from genesisd.supervisor.model import (
    LIVE,
    Adopted,
    BeginProbes,
    CheckGates,
    CloseFront,
    Condemned,
    DeadlinePassed,
    DependencyLost,
    Drained,
    Effect,
    EndProbes,
    Event,
    Exited,
    ExitRecord,
    GateOpened,
    GateShut,
    HoldFront,
    Kill,
    LivenessFailed,
    OpenFront,
    Phase,
    Policy,
    Progressed,
    ReadinessFailed,
    ReadinessPassed,
    Reason,
    ResetRequested,
    RestartRequested,
    SaveEvidence,
    ShimLost,
    Spawn,
    Spawned,
    SpawnFailed,
    StartRequested,
    StartupPassed,
    StopRequested,
    Swept,
    Terminate,
    Vanished,
    WaitDrained,
    WorkerState,
)
from genesisd.supervisor.transition import decide
from tests.unit.supervisor.sound import sound

POLICY = Policy(
    start_deadline=30, start_cap=100, drain=10, grace=5, kill_wait=5, gate_retry=1, budget=3, window=600,
    backoff_initial=1, backoff_factor=2, backoff_max=8,
)  # fmt: skip
CRASH = ExitRecord(-9, 9, "crash", "killed")
HOPELESS = ExitRecord(2, None, "bad-config", "bad flag", permanent=True)


class BrokenError(AssertionError):
    """An invariant does not hold."""


@dataclass
class Tree:
    """The processes of one incarnation."""

    incarnation: int
    leader: bool = True
    others: bool = True
    stuck: bool = False
    ignores_term: bool = False
    answered: bool = False
    proven: bool = False

    @property
    def alive(self) -> bool:
        return self.leader or self.others


@dataclass
class World:
    """The box and its daemon."""

    seed: int
    policy: Policy = POLICY
    now: float = 0.0
    disk: WorkerState = field(default_factory=WorkerState)
    state: WorkerState = field(default_factory=WorkerState)
    trees: dict[int, Tree] = field(default_factory=dict)
    mailbox: deque[Event] = field(default_factory=deque)
    shim: bool = True
    foreign_vram: bool = False
    dependency: bool = True
    may_run: bool = False
    spawns: list[float] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    # --- the daemon -------------------------------------------------------------------------------------------

    def post(self, event: Event) -> None:
        self.mailbox.append(event)

    def step(self) -> None:
        """Take one event from the mailbox, persist, act. The daemon may die between any two of these."""
        event = self.mailbox.popleft()
        before = self.state
        state, effects = decide(before, event, self.policy)
        self.trace.append(f"{self.now:8.2f} {before.phase:>9} {event} -> {state.phase} {effects}")
        sound(before, event, state, effects)
        if self.dies():
            return
        self.state = self.disk = state
        self.check_state(event)
        for effect in effects:
            if self.dies():
                return
            self.act(effect)

    def dies(self) -> bool:
        if not (self.faults and self.random.random() < 0.01):
            return False
        self.trace.append(f"{self.now:8.2f} daemon dies")
        self.mailbox.clear()
        self.restart_daemon()
        return True

    faults = True

    def restart_daemon(self) -> None:
        """What the supervisor does at start: load, look, then say adopted or vanished."""
        # A spawn that failed while nobody could write it down may be tried once more.
        if self.spawns and self.state.incarnation not in self.trees:
            self.spawns.pop()
        self.state = self.disk
        alive = self.living()
        if alive is not None and alive.leader:
            self.post(Adopted(self.now, alive.incarnation, shim_lost=not self.shim))
        elif alive is not None:
            self.post(Adopted(self.now, alive.incarnation))
            self.post(Exited(self.now, alive.incarnation, CRASH))
        else:
            known = self.state.incarnation in self.trees
            self.post(Vanished(self.now, CRASH, spawned=known))
        if self.state.wanted and self.state.phase is Phase.STOPPED:
            self.post(StartRequested(self.now))
            self.spawns.clear()

    # --- effects ----------------------------------------------------------------------------------------------

    def act(self, effect: Effect) -> None:
        match effect:
            case CheckGates():
                self.answer_gates()
            case Spawn(incarnation):
                self.spawn(incarnation)
            case Terminate(incarnation):
                self.only_newest(incarnation)
                tree = self.trees.get(incarnation)
                if tree is not None and tree.leader and not tree.ignores_term and not tree.stuck:
                    self.leader_dies(tree, ExitRecord(0, None, "stopped", "stopped"))
            case Kill(incarnation):
                self.only_newest(incarnation)
                tree = self.trees.get(incarnation)
                if tree is not None and tree.leader and not tree.stuck:
                    self.leader_dies(tree, CRASH)
            case WaitDrained(incarnation):
                if self.random.random() < 0.7:
                    self.post(Drained(self.now, incarnation))
            case OpenFront(incarnation):
                tree = self.trees.get(incarnation)
                if tree is not None and tree.alive and not tree.proven:
                    raise BrokenError("I7: the front was opened to an unproven life")
            case BeginProbes() | EndProbes() | HoldFront() | CloseFront() | SaveEvidence():
                pass

    def answer_gates(self) -> None:
        if self.random.random() < 0.03 and self.faults:
            return  # the answer is lost
        if self.living() is not None:
            self.post(GateShut(self.now, Reason("tree", "the old tree lives")))
        elif self.foreign_vram:
            self.post(GateShut(self.now, Reason("vram", "held by a stranger")))
        elif not self.dependency:
            self.post(GateShut(self.now, Reason("dependency", "not ready")))
        else:
            self.post(GateOpened(self.now))

    def spawn(self, incarnation: int) -> None:
        if self.living() is not None:
            raise BrokenError("I1, I2: spawned beside a living tree that holds its memory")
        if not self.may_run:
            raise BrokenError("I6: spawned after an operator's stop")
        if incarnation in self.trees:
            raise BrokenError("an incarnation number came twice")
        self.spawns.append(self.now)
        self.check_budget()
        self.shim = True
        if self.random.random() < 0.05:
            self.post(SpawnFailed(self.now, incarnation, Reason("exec", "no"), permanent=self.random.random() < 0.3))
            return
        tree = Tree(incarnation, ignores_term=self.random.random() < 0.2, stuck=self.random.random() < 0.02)
        self.trees[incarnation] = tree
        self.post(Spawned(self.now, incarnation))

    # --- the box ----------------------------------------------------------------------------------------------

    def living(self) -> Tree | None:
        return next((tree for tree in self.trees.values() if tree.alive), None)

    def leader_dies(self, tree: Tree, record: ExitRecord) -> None:
        tree.leader = False
        self.post(Exited(self.now, tree.incarnation, record))
        self.sweep(tree)

    def sweep(self, tree: Tree) -> None:
        if tree.stuck:
            self.post(Swept(self.now, tree.incarnation, survivors=1))
            return
        tree.others = False
        self.post(Swept(self.now, tree.incarnation))

    def pass_time(self, seconds: float) -> None:
        """Move the clock; a deadline on the way rings first, exactly once a passing."""
        target = self.now + seconds
        while self.state.deadline is not None and self.state.deadline <= target and not self.mailbox:
            self.now = max(self.now, self.state.deadline)
            self.post(DeadlinePassed(self.now))
            self.drain_mailbox()
        self.now = target

    def drain_mailbox(self) -> None:
        while self.mailbox:
            self.step()

    # --- people -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        self.may_run = True
        self.request(StartRequested(self.now))

    def restart(self) -> None:
        self.may_run = True
        self.request(RestartRequested(self.now, drain=self.random.random() < 0.5))

    def stop(self) -> None:
        self.may_run = False
        event = StopRequested(self.now, drain=self.random.random() < 0.5)
        # It may overtake what the box reported a moment ago.
        asked = any(isinstance(other, StartRequested | RestartRequested) for other in self.mailbox)
        overtakes = not asked and self.random.random() < 0.3
        (self.mailbox.appendleft if overtakes else self.mailbox.append)(event)
        self.until_handled(event)

    def shut_down(self) -> None:
        """The daemon stops with its workers, and comes back after a while."""
        self.post(StopRequested(self.now, text="shutdown", keep_wanted=True))
        self.drain_mailbox()
        self.pass_time(60)
        self.restart_daemon()

    def lose_store(self) -> None:
        """The database is damaged: only the processes know what lives."""
        self.mailbox.clear()
        self.disk = WorkerState(incarnation=0, wanted=False)
        if self.living() is None:  # a number is never used twice, also without a store: the shim knows the newest
            self.disk = replace(self.disk, incarnation=max(self.trees, default=0))
        self.may_run = True
        self.spawns.clear()
        self.restart_daemon()

    def until_handled(self, event: Event) -> None:
        """The operator's word counts from when the daemon took it: a daemon that dies first never heard it."""
        while event in self.mailbox:
            self.step()
        if self.state.wanted and not self.may_run:
            self.may_run = True

    def fault(self) -> None:
        """One random thing that happens to a box."""
        tree = self.living()
        roll = self.random.randrange(18)
        if roll == 0:
            self.foreign_vram = not self.foreign_vram
        elif roll == 1:
            self.dependency = not self.dependency
            if not self.dependency:
                self.request(DependencyLost(self.now, Reason("dependency", "lost")))
        elif roll == 2:
            self.mailbox.clear()
            self.trace.append(f"{self.now:8.2f} daemon killed")
            self.restart_daemon()
        elif roll == 3:
            self.request(ResetRequested(self.now))
        elif roll == 4:
            stale = self.random.randrange(self.state.incarnation + 1)
            if stale != self.state.incarnation:
                reports = (Exited(self.now, stale, CRASH), Swept(self.now, stale), ReadinessPassed(self.now, stale),
                           Drained(self.now, stale), LivenessFailed(self.now, stale, Reason("x", "x")))  # fmt: skip
                self.post(self.random.choice(reports))
        elif roll == 16 and self.random.random() < 0.2:
            self.lose_store()
        elif roll == 17 and self.random.random() < 0.3:
            self.shut_down()
        elif tree is not None and tree.leader:
            self.trouble(tree, roll)

    def trouble(self, tree: Tree, roll: int) -> None:
        number = tree.incarnation
        if roll in {5, 6, 7}:
            tree.answered = True
            self.post(StartupPassed(self.now, number))
        elif roll in {8, 9, 10}:
            if tree.answered:
                tree.proven = True
                self.post(ReadinessPassed(self.now, number))
        elif roll == 11:
            self.post(ReadinessFailed(self.now, number, Reason("generation", "no answer")))
        elif roll == 12:
            kind = Condemned if self.random.random() < 0.1 else LivenessFailed
            self.post(kind(self.now, number, Reason("hung", "nothing moved")))
        elif roll == 13:
            self.leader_dies(tree, self.random.choice([CRASH, CRASH, HOPELESS]))
        elif roll == 14:
            self.shim = False
            self.post(ShimLost(self.now, number))
        else:
            self.post(Progressed(self.now, number))

    # --- invariants -------------------------------------------------------------------------------------------

    def only_newest(self, incarnation: int) -> None:
        tree = self.living()
        if tree is not None and tree.incarnation != incarnation:
            raise BrokenError("I4: an order that names another life than the living one")

    def check_budget(self) -> None:
        """A request (start, reset, ...) allows one spawn and, at most, a fresh budget of restarts."""
        recent = [at for at in self.spawns if at > self.now - self.policy.window]
        if len(recent) > self.policy.budget + 1:
            raise BrokenError(f"I5: {len(recent)} spawns since the last request")

    def request(self, event: Event) -> None:
        """What somebody asked for is no crash: the books begin anew."""
        self.drain_mailbox()
        self.spawns.clear()
        self.post(event)

    def check_state(self, event: Event) -> None:
        state, tree = self.state, self.living()
        if (
            state.phase is Phase.READY
            and tree is not None
            and tree.incarnation == state.incarnation
            and not tree.proven
        ):
            raise BrokenError("I7: ready without a proven generation")
        if state.phase not in {Phase.READY, Phase.DEGRADED, Phase.STOPPED, Phase.FAILED} and state.deadline is None:
            raise BrokenError(f"{state.phase} without a deadline can wait for ever after {event}")
        if len([at for at in state.restarts if at > self.now - self.policy.window]) > self.policy.budget:
            raise BrokenError("I5: the window holds more restarts than the budget")

    def settle(self) -> None:
        """No more faults: everything must come to rest where it was wanted, with no stray process."""
        self.faults = False
        self.foreign_vram, self.dependency = False, True
        for _ in range(60):
            self.drain_mailbox()
            tree = self.living()
            if tree is not None and tree.leader and tree.incarnation == self.state.incarnation:
                if self.state.phase is Phase.STARTING:
                    tree.answered = True
                    self.post(StartupPassed(self.now, tree.incarnation))
                if self.state.phase in {Phase.WARMING, Phase.DEGRADED}:
                    tree.proven = True
                    self.post(ReadinessPassed(self.now, tree.incarnation))
            self.drain_mailbox()
            self.pass_time(3)
        self.drain_mailbox()
        self.check_rest()

    def check_rest(self) -> None:
        state, tree = self.state, self.living()
        stuck = tree is not None and tree.stuck
        if tree is not None and not stuck and not (state.phase in LIVE and state.incarnation == tree.incarnation):
            raise BrokenError(f"I3: incarnation {tree.incarnation} lives and nobody owns it ({state})")
        if stuck:
            return
        if state.wanted and state.phase not in {Phase.READY, Phase.FAILED}:
            raise BrokenError(f"wanted, but rests in {state}")
        if not state.wanted and state.phase not in {Phase.STOPPED, Phase.FAILED}:
            raise BrokenError(f"not wanted, but rests in {state}")


def walk(seed: int, steps: int = 40) -> World:
    """One random life of a box, then rest. Raises BrokenError with the trace."""
    world = World(seed)
    try:
        world.start()
        for _ in range(steps):
            roll = world.random.random()
            if roll < 0.04:
                world.stop()
            elif roll < 0.08:
                world.start()
            elif roll < 0.11:
                world.restart()
            elif roll < 0.6:
                world.fault()
            else:
                world.pass_time(world.random.choice([0.1, 1, 3, 10, 40, 200]))
            if world.random.random() < 0.8:
                world.drain_mailbox()
        world.settle()
    except AssertionError as error:
        raise BrokenError(f"seed {seed}: {error}\n" + "\n".join(world.trace[-40:])) from error
    return world
