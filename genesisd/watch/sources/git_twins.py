"""Copies that do not say so: commits of a pin's history that change the same lines as a merge."""

from __future__ import annotations

from genesisd.watch.lineage import Copies, patch_fingerprint
from genesisd.watch.sources.git_child import Git, GitFailed

_DIFF = ("diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
_PATCH = (*_DIFF, "-p", "-U3", "--full-index")
_MOST = 50
"""Commits of one history that touch exactly the same files: more were never seen, and each costs a diff."""
_MOST_BYTES = 1 << 23


class Twins:
    """Looks on the pin's side only: what the merge has in its own history cannot be a copy of it."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._known_paths: dict[str, frozenset[bytes]] = {}

    async def find(self, merge: str, tip: str) -> tuple[str | Copies, str]:
        """The copy, or that there is none, or that it could not be told and why."""
        try:
            paths = await self._paths(merge)
            likely = await self._likely(merge, tip, paths) if paths else []
            if not likely:
                return Copies.NONE, ""
            own = await self._fingerprint(merge)
            for oid in likely[:_MOST]:
                if own is not None and await self._fingerprint(oid) == own:
                    return oid, ""
        except GitFailed as failed:
            return Copies.UNTOLD, f"whether a commit is a copy of {merge[:10]} could not be told: {failed.text}"
        if len(likely) > _MOST:
            return Copies.UNTOLD, f"{len(likely)} commits change the files of {merge[:10]}, too many to compare"
        return Copies.NONE, ""

    async def _paths(self, commit: str) -> frozenset[bytes]:
        """Against its first parent: what a merge brought to its branch."""
        if (known := self._known_paths.get(commit)) is not None:
            return known
        parents = (await self._git.read("log", "--no-walk", "--no-show-signature", "--format=%P", commit, "--")).split()
        if not parents:
            return frozenset()
        listed = await self._git.read(*_DIFF, "--name-only", "-z", parents[0].decode(), commit)
        self._known_paths[commit] = frozenset(listed.split(b"\0")) - {b""}
        return self._known_paths[commit]

    async def _likely(self, merge: str, tip: str, paths: frozenset[bytes]) -> list[str]:
        """Commits that touch exactly these files. One path is enough to find them: a copy touches each."""
        path = max(paths, key=lambda one: (one.count(b"/"), len(one))).decode(errors="surrogateescape")
        found = await self._git.read("rev-list", "--no-merges", "--full-history", tip, f"^{merge}", "--", path)
        touched = await self._git.read(*_DIFF, "--stdin", "--root", "--name-only", "-z", stdin=found)
        oids = frozenset(found.split())
        of: dict[bytes, set[bytes]] = {}
        current: set[bytes] = set()
        for name in touched.split(b"\0"):
            if name in oids:
                current = of.setdefault(name, set())
            elif name:
                current.add(name)
        return [oid.decode() for oid in found.split() if of.get(oid, set()) == set(paths)]

    async def _fingerprint(self, commit: str) -> bytes | None:
        diff = await self._git.read(*_PATCH, f"{commit}^1", commit, most=_MOST_BYTES)
        return patch_fingerprint(diff)
