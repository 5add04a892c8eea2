"""What the judge can have done: a search takes what the worker runs, and not what is configured."""

from __future__ import annotations

from types import SimpleNamespace

from genesisd.patches.flags import Flag
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.acts import JudgeActs
from genesisd.wiring.starts import PatchNote, Start
from tests.unit.patches.made import edit, patch

CATALOG = tuple(patch(edit("a", "b"), id=name, flag=Flag(f"{name}_X")) for name in ("P1", "P2", "P3"))


def test_a_search_is_among_the_patches_of_the_running_build():
    """On its pin; what it lacks, in quarantine or for any other reason, is told as absent."""
    notes = {"P1": PatchNote("applied"), "P2": PatchNote("quarantined"), "P3": PatchNote("applied")}
    running = Start("old-1+aa", notes, incarnation=3, pin="old")
    begun = []
    actor = SimpleNamespace(state=SimpleNamespace(incarnation=3))
    acts = JudgeActs(
        lambda: {"w": WorkerSpec(pin="new", model="m")}, lambda: SimpleNamespace(actors={"w": actor}),
        SimpleNamespace(running=lambda _, n: running if n == 3 else None), SimpleNamespace(target=lambda *_: None),
        lambda: SimpleNamespace(begin=lambda worker, case: begun.append((worker, case))), lambda: CATALOG, None,
    )  # fmt: skip
    assert acts.means("w").bisect
    acts.bisect("w", ("golden",), "looking for the patch that is to blame, since golden is bad")
    ((worker, case),) = begun
    assert (worker, case.pin, set(case.patches), case.absent) == ("w", "old", {"P1", "P3"}, ("P2",))
    assert case.text == "golden is bad"
