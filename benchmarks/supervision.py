"""Death and respawn, many deaths at once, starts and stops, beside supervisord and circus in the same run."""

from __future__ import annotations

import random
import time

from benchmarks.contestants import Contestant, Genesisd, side_by_side
from benchmarks.figures import Figure, Figures, Target
from benchmarks.peers import Circus, CircusEverySecond, Supervisord
from benchmarks.rig import there_and_back

PEERS: tuple[type[Contestant], ...] = (Genesisd, Supervisord, Circus)


def respawn(rounds: int) -> Figures:
    """kill -9 of a child until the next one runs, with 1 and with 100 children, and 50 of 100 at once."""
    return [*_respawn(1, rounds), *_respawn(100, rounds)]


def _respawn(count: int, rounds: int) -> Figures:
    plural = "child" if count == 1 else "children"
    one = Figure(f"kill -9 of a child to respawn, {count} {plural}", "ms", Target(20))
    many = Figure(f"kill -9 of 50 of {count} at once, all back", "s", Target(0.5), digits=2)
    begun = Figure(f"start of {count} {plural} until the last runs", "s", digits=2)
    kinds = (*PEERS, CircusEverySecond) if count > 1 else PEERS
    with side_by_side(kinds, count) as running:
        for label in there_and_back(rounds, list(running)):
            contestant = running[label]
            begun.samples.setdefault(label, [contestant.started_in])
            # A peer takes seconds a turn; ours would wait for it with nothing to do.
            for _ in range(10 if label == "genesisd" else 1):
                _pause(contestant)
                one.add(label, *(1000 * took for took in contestant.reports.kill([contestant.reports.alive()[0]])))
        for label in there_and_back(max(2, rounds // 2), list(running)) if count > 50 else ():
            contestant = running[label]
            _pause(contestant)
            many.add(label, max(contestant.reports.kill(contestant.reports.alive()[:50])))
    return [one, many, begun] if count > 50 else [one]


def _pause(contestant: Contestant) -> None:
    """Beside circus's period in a random phase: it looks for the dead every so often, and kills would lock to it."""
    time.sleep(contestant.pause + random.random() * (0.1 if contestant.label == "genesisd" else 1.0))
    contestant.settle()


def stops(rounds: int) -> Figures:
    """Ten children that ignore SIGTERM, with 2 s of grace, and 100 that obey."""
    grace = 2.0
    stubborn = Figure(
        f"stop of 10 children that ignore SIGTERM, grace {grace:g} s", "s", Target(grace + 0.5, "max"), digits=2
    )
    obedient = Figure("stop of 100 obedient children", "s", digits=2)
    for _ in range(max(1, rounds // 4)):
        _stop(stubborn, 10, stubborn=True, grace=grace)
        _stop(obedient, 100)
    return [stubborn, obedient]


def _stop(figure: Figure, count: int, **options: object) -> None:
    """One after the other: a contestant that stops serves no second round."""
    for kind in PEERS:
        with side_by_side([kind], count, **options) as running:
            for contestant in running.values():
                time.sleep(1)  # circus refuses orders until its start is quite over
                figure.add(kind.label, contestant.stop_seconds())
