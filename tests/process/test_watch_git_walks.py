"""Random histories on real repositories, beside what their maker knows of them."""

from __future__ import annotations

import random

import pytest

from genesisd.watch.model import Lineage, Pin, Pull, State
from genesisd.watch.refs import UPSTREAM, Ref
from genesisd.watch.sources.git import GitMirror
from tests.helpers.git_repo import Repo, lines


class Maker:
    """Lands, picks, reverts and lands again on main and on a release branch, and knows what stands where.

    ``landed[branch][number]`` lists the commits of a pull request on a branch, each with whether it still stands.
    """

    def __init__(self, repo, seed):
        self.repo = repo
        self.drawn = random.Random(seed)
        self.merges = {}
        self.number = 0
        self.landed = {"main": {}, "release": {}}
        repo.branch("release")

    def step(self):
        branch = self.drawn.choice(["main", "main", "release"])
        self.repo.checkout(branch)
        move = self.drawn.choice([self.land, self.land, self.pick, self.revert, self.mention])
        move(branch)

    def land(self, branch):
        """On main only: there pull requests are merged."""
        self.repo.checkout("main")
        self.number += 1
        commit = self.repo.commit(f"Change {self.number} (#{self.number})", **self._file())
        self.merges[self.number] = commit
        self.landed["main"][self.number] = [[commit, True]]

    def pick(self, branch):
        """Onto the release, as people do: with a trailer, under the title, or under another."""
        self.repo.checkout("release")
        waiting = [n for n in self.merges if not self._stands("release", n) and self._stands("main", n)]
        if not waiting:
            return
        number = self.drawn.choice(waiting)
        file = f"part{number}.py"
        text = self.repo.git("show", f"{self.merges[number]}:{file}") + "\n"
        how = self.drawn.choice(["trailer", "title", "other"])
        message = {
            "trailer": f"Backport\n\n(cherry picked from commit {self.merges[number]})",
            "title": f"Change {number} (#{number})",
            "other": f"Backport of something, number {number}",
        }[how]
        if how != "other":
            text += "conflict resolved by hand\n"
        commit = self.repo.commit(message, **{file: text})
        self.landed["release"].setdefault(number, []).append([commit, True])

    def revert(self, branch):
        """By commit, as git words it, or by pull request, as the forge does."""
        standing = [(n, one) for n, some in self.landed[branch].items() for one in some if one[1]]
        if not standing:
            return
        number, one = self.drawn.choice(standing)
        self.number += 1
        subject = self.repo.git("show", "-s", "--format=%s", one[0])
        words = [f'Revert "{subject}"\n\nThis reverts commit {one[0]}.']
        if branch == "main" or subject.endswith(")"):
            words.append(f'Revert "Change {number} (#{number})" (#{self.number})')
            words.append(f"Take it back (#{self.number})\n\nReverts {UPSTREAM}#{number}")
        (self.repo.path / f"part{number}.py").unlink()
        self.repo.commit(self.drawn.choice(words))
        one[1] = False

    def mention(self, branch):
        """Says much and does nothing."""
        n = self.drawn.randint(1, max(1, self.number))
        subject = self.drawn.choice(
            [f"Follow up on (#{n}) for models", f"Partially revert #{n}", f"Test what (#{n}) broke", f"See #{n}"]
        )
        self.number += 1
        self.repo.commit(
            f"{subject} (#{self.number})\n\nThe revert of (#{n}) is not this.", **{"notes.txt": f"{self.number}\n"}
        )

    def expected(self, branch, number):
        if number in self.landed["main"] and branch == "main":
            own = self.landed["main"][number][0]
            return Lineage.ANCESTOR if own[1] else Lineage.REVERTED
        some = self.landed[branch].get(number)
        if not some:
            return Lineage.ABSENT
        return Lineage.CHERRY_PICKED if any(one[1] for one in some) else Lineage.REVERTED

    def _stands(self, branch, number):
        return any(one[1] for one in self.landed[branch].get(number, []))

    def _file(self):
        return {f"part{self.number}.py": lines(10, line5=f"changed {self.drawn.random()}")}


@pytest.mark.parametrize("seed", range(3))
async def test_histories_that_somebody_made(tmp_path, seed, monkeypatch):
    """Whatever was landed, picked and undone, and in whatever words: git is read as it was meant."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    maker = Maker(Repo.make(tmp_path / "upstream"), seed)
    for _ in range(45):
        maker.step()
    mirror = GitMirror(maker.repo.mirror(tmp_path / "mirror.git"))
    pins = [Pin(id=branch, version="0", commit=maker.repo.git("rev-parse", branch)) for branch in ("main", "release")]
    pulls = [
        Pull(ref=Ref(UPSTREAM, n), state=State.MERGED, checked_at=0.0, merge_commit=commit)
        for n, commit in maker.merges.items()
    ]
    facts = await mirror.lineage(pulls, pins)
    found = {(ref.number, id_): fact.lineage for (ref, id_), fact in facts.items()}
    assert found == {(n, branch): maker.expected(branch, n) for n in maker.merges for branch in ("main", "release")}
    assert len(set(found.values())) == 4
