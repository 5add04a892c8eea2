"""Lineage on real repositories: histories as upstream makes them, read by the real git."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess

import pytest

from genesisd.watch.model import Lineage, Pin, Pull, State
from genesisd.watch.refs import UPSTREAM, Ref
from genesisd.watch.sources import git as git_module
from genesisd.watch.sources.git import GitMirror
from tests.helpers.git_repo import ENV, Repo, lines

NOWHERE = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def repo(tmp_path):
    return Repo.make(tmp_path / "upstream")


@pytest.fixture(autouse=True)
def _plain_git(monkeypatch):
    """No configuration of whoever runs the tests."""
    for key in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(key, ENV[key])


def merged(number, commit, **more):
    return Pull(ref=Ref(UPSTREAM, number), state=State.MERGED, checked_at=0.0, merge_commit=commit, **more)


def unmerged(number, state=State.OPEN, **more):
    return Pull(ref=Ref(UPSTREAM, number), state=state, checked_at=0.0, **more)


def pin(commit, id_="p"):
    return Pin(id=id_, version="0", commit=commit)


async def ask(repo, pull, *commits, **options):
    """The facts of one pull request for pins at ``commits``, through a bare clone of the repository."""
    mirror = repo.mirror(repo.path.parent / f"mirror{len(list(repo.path.parent.iterdir()))}.git")
    pins = [pin(commit, f"p{n}") for n, commit in enumerate(commits)]
    facts = await GitMirror(mirror, **options).lineage([pull], pins)
    return [facts[pull.ref, one.id] for one in pins]


async def test_s1_a_hidden_revert_stays_an_ancestor(repo):
    """A later commit takes the fix away under another title: by lineage it is in, which is all that lineage says."""
    fix = repo.commit("Fix the cache (#1)", **{"engine.py": lines(40, line20="fixed")})
    hidden = repo.commit("Add a model (#2)", **{"engine.py": lines(40), "model.py": "new\n"})
    [fact] = await ask(repo, merged(1, fix), hidden)
    assert (fact.lineage, fact.how) == (Lineage.ANCESTOR, "merge-base")
    assert fix[:10] in fact.evidence


async def test_s2_a_revert_on_the_release_branch_counts_for_the_release_alone(repo):
    """The release took the fix back, main did not."""
    fix = repo.commit("Fix the cache (#1)", **{"engine.py": lines(40, line20="fixed")})
    repo.branch("releases/v1")
    undone = repo.revert(fix)
    repo.checkout("main")
    tip = repo.commit("Go on (#2)", **{"other.py": "x\n"})
    release, main = await ask(repo, merged(1, fix), undone, tip)
    assert (release.lineage, release.how) == (Lineage.REVERTED, "revert")
    assert undone[:10] in release.evidence
    assert fix[:10] in release.evidence
    assert main.lineage is Lineage.ANCESTOR


@pytest.mark.parametrize(
    ("trailer", "message", "how"),
    [(True, None, "trailer"), (False, "Backport of the cache fix", "patch-id"), (False, None, "patch-id")],
    ids=["trailer", "patch", "patch-and-subject"],
)
async def test_s2_a_pick_onto_the_release_branch_is_found(repo, trailer, message, how):
    """The release has a copy: another commit, which the merge commit is no ancestor of."""
    repo.branch("releases/v1")
    repo.checkout("main")
    repo.commit("Before (#3)", **{"other.py": "x\n"})
    fix = repo.commit("Fix the cache (#1)", **{"engine.py": lines(40, line20="fixed")})
    repo.checkout("releases/v1")
    copy = repo.pick(fix, message, trailer=trailer)
    assert repo.git("merge-base", "--is-ancestor", fix, copy, check=False) == ""
    [fact] = await ask(repo, merged(1, fix), copy)
    assert (fact.lineage, fact.how) == (Lineage.CHERRY_PICKED, how)
    assert copy[:10] in fact.evidence


async def test_a_pick_that_was_changed_is_found_by_its_subject(repo):
    """A conflict was resolved, so that the lines differ; the title still ends in the number."""
    fix = repo.commit("Fix the cache (#1)", **{"engine.py": lines(40, line20="fixed")})
    repo.branch("releases/v1", "HEAD~1")
    copy = repo.commit("Fix the cache (#1)", **{"engine.py": lines(40, line20="fixed by hand")})
    [fact] = await ask(repo, merged(1, fix), copy)
    assert (fact.lineage, fact.how) == (Lineage.CHERRY_PICKED, "subject")


async def test_a_pick_that_was_reverted_on_its_branch(repo):
    """The revert names the pull request, the commit it undoes is the copy."""
    repo.branch("releases/v1")
    repo.checkout("main")
    fix = repo.commit("Fix the cache (#1)", **{"engine.py": lines(40, line20="fixed")})
    repo.checkout("releases/v1")
    copy = repo.pick(fix)
    undone = repo.revert(copy, 'Revert "Fix the cache (#1)" (#9)')
    before, after = await ask(repo, merged(1, fix), copy, undone)
    assert before.lineage is Lineage.CHERRY_PICKED
    assert after.lineage is Lineage.REVERTED


async def test_a_copy_under_another_title_that_was_reverted_by_commit(repo):
    """Found by its lines, undone by its name."""
    repo.branch("releases/v1")
    repo.checkout("main")
    fix = repo.commit("Fix the cache (#1)", **{"engine.py": lines(40, line20="fixed")})
    repo.checkout("releases/v1")
    copy = repo.pick(fix, "Backport")
    undone = repo.revert(copy)
    [fact] = await ask(repo, merged(1, fix), undone)
    assert fact.lineage is Lineage.REVERTED


async def test_s3_a_squashed_merge_is_judged_by_its_merge_commit(repo):
    """The head of the branch is never an ancestor, and no patch of the branch is the squashed one."""
    repo.branch("feature")
    repo.commit("One", **{"engine.py": lines(40, line20="one")})
    head = repo.commit("Two", **{"engine.py": lines(40, line20="one", line30="two")})
    repo.checkout("main")
    squashed = repo.squash("feature", "A feature in two steps (#5)")
    tip = repo.commit("Later (#6)", **{"other.py": "x\n"})
    assert [line[0] for line in repo.git("cherry", "main", "feature").splitlines()] == ["+", "+"]
    [fact] = await ask(repo, merged(5, squashed, head=head), tip)
    assert (fact.lineage, fact.how) == (Lineage.ANCESTOR, "merge-base")


async def test_merged_after_the_pin(repo):
    """Absent, although the next line of main would have it."""
    old = repo.git("rev-parse", "HEAD")
    fix = repo.commit("Fix (#1)", **{"engine.py": lines(40, line20="fixed")})
    repo.commit("Mention of (#1) in the middle (#2)", **{"other.py": "x\n"})
    [fact] = await ask(repo, merged(1, fix), old)
    assert (fact.lineage, fact.how) == (Lineage.ABSENT, "merge-base")


async def test_a_mention_is_not_a_landing(repo):
    """Only a number at the very end of the subject says what the commit came by."""
    repo.branch("side")
    fix = repo.commit("Fix (#1)", **{"engine.py": lines(40, line20="fixed")})
    repo.checkout("main")
    repo.commit("Follow up on (#1) for models (#2)", **{"other.py": "x\n"})
    tip = repo.commit("Test it (#3)\n\nSee (#1)\nFixes what (#1) did (#1)", **{"other.py": "y\n"})
    [fact] = await ask(repo, merged(1, fix), tip)
    assert fact.lineage is Lineage.ABSENT


async def test_the_same_change_elsewhere_in_the_file_list_is_no_copy(repo):
    """The same lines in another file, or one more file, are another change."""
    repo.commit("Twin", **{"twin.py": lines(40)})
    repo.branch("side")
    fix = repo.commit("Fix (#1)", **{"engine.py": lines(40, line20="fixed")})
    repo.checkout("main")
    repo.commit("Elsewhere", **{"twin.py": lines(40, line20="fixed")})
    tip = repo.commit("And more", **{"engine.py": lines(40, line20="fixed"), "more.py": "x\n"})
    [fact] = await ask(repo, merged(1, fix), tip)
    assert fact.lineage is Lineage.ABSENT


async def test_a_change_of_indentation_is_no_copy(repo):
    """Blanks decide what a line of Python belongs to."""
    repo.branch("side")
    fix = repo.commit("Fix (#1)", **{"engine.py": lines(40, line20="    fixed")})
    repo.checkout("main")
    tip = repo.commit("Similar", **{"engine.py": lines(40, line20="        fixed")})
    [fact] = await ask(repo, merged(1, fix), tip)
    assert fact.lineage is Lineage.ABSENT


async def test_a_revert_that_was_reverted(repo):
    """What was taken back and brought again is in."""
    fix = repo.commit("Fix (#1)", **{"engine.py": lines(40, line20="fixed")})
    undone = repo.revert(fix, 'Revert "Fix (#1)" (#2)')
    again = repo.revert(undone, 'Revert "Revert "Fix (#1)" (#2)" (#3)')
    once, twice = await ask(repo, merged(1, fix), undone, again)
    assert once.lineage is Lineage.REVERTED
    assert twice.lineage is Lineage.ANCESTOR


async def test_landed_again_after_a_revert(repo):
    """The revert is older than the second landing, which it therefore does not undo."""
    fix = repo.commit("Fix (#1)", **{"engine.py": lines(40, line20="fixed")})
    repo.revert(fix)
    again = repo.commit("Fix (#1)", **{"engine.py": lines(40, line20="fixed")})
    changed = repo.commit("Tidy", **{"engine.py": lines(40, line20="tidy")})
    repo.revert(changed)
    first, second = await ask(repo, merged(1, fix), again, repo.git("rev-parse", "HEAD"))
    assert (first.lineage, first.how) == (Lineage.CHERRY_PICKED, "patch-id")
    assert second == first


async def test_a_revert_of_another_pull_request_changes_nothing(repo):
    """Its title is quoted in full; the number within belongs to another."""
    fix = repo.commit("Fix (#1)", **{"engine.py": lines(40, line20="fixed")})
    other = repo.commit("Follow up on (#1) (#2)", **{"other.py": "x\n"})
    tip = repo.revert(other, 'Revert "Follow up on (#1) (#2)" (#3)')
    [fact] = await ask(repo, merged(1, fix), tip)
    assert fact.lineage is Lineage.ANCESTOR


@pytest.mark.parametrize("state", [State.OPEN, State.CLOSED])
async def test_landed_though_upstream_calls_it_unmerged(repo, state):
    """A bot pushed the squashed commit itself, and closed the pull request or left it open."""
    before = repo.git("rev-parse", "HEAD")
    landed = repo.commit("Fix by a bot (#7)", **{"engine.py": lines(40, line20="fixed")})
    first, second = await ask(repo, unmerged(7, state), before, landed)
    assert (first.lineage, first.how) == (Lineage.ABSENT, "subject")
    assert (second.lineage, second.how) == (Lineage.ANCESTOR, "subject")


async def test_a_merge_commit_that_is_on_no_branch(repo):
    """Upstream tells a commit that no clone has: unknown, unless a commit of the history names the pull request."""
    fix = repo.commit("Fix (#1)", **{"engine.py": lines(40, line20="fixed")})
    [fact] = await ask(repo, merged(8, NOWHERE), fix)
    assert fact.lineage is Lineage.UNKNOWN
    assert NOWHERE[:10] in fact.evidence
    [fact] = await ask(repo, merged(1, NOWHERE), fix)
    assert (fact.lineage, fact.how) == (Lineage.CHERRY_PICKED, "subject")


async def test_the_trial_merge_of_an_open_one_is_not_looked_for(repo):
    """Upstream makes one for each, on no branch: that it is lacking says nothing."""
    tip = repo.commit("Another (#1)", **{"engine.py": lines(40, line20="fixed")})
    [fact] = await ask(repo, unmerged(8, merge_commit=NOWHERE), tip)
    assert (fact.lineage, fact.how) == (Lineage.ABSENT, "subject")


async def test_a_true_merge_and_its_copy(repo):
    """A commit with two parents is compared with its first."""
    repo.branch("release")
    repo.branch("feature", "main")
    repo.commit("Part", **{"engine.py": lines(40, line20="fixed")})
    repo.checkout("main")
    repo.commit("Meanwhile (#2)", **{"other.py": "x\n"})
    repo.git("merge", "-q", "--no-ff", "-m", "Merge pull request #4 from ada/feature", "feature")
    merge = repo.git("rev-parse", "HEAD")
    repo.checkout("release")
    copy = repo.commit("Taken over", **{"engine.py": lines(40, line20="fixed")})
    main, release = await ask(repo, merged(4, merge), merge, copy)
    assert main.lineage is Lineage.ANCESTOR
    assert (release.lineage, release.how) == (Lineage.CHERRY_PICKED, "patch-id")


async def test_pins_by_tag_version_and_abbreviated_commit(repo):
    """What people write in a pins file leads to one commit."""
    fix = repo.commit("Fix (#1)", **{"engine.py": lines(40, line20="fixed")})
    repo.tag("v0.32.0")
    repo.branch("v0.33.0", "HEAD~1")  # a branch that is called like a tag
    repo.checkout("main")
    repo.commit("Later (#2)", **{"other.py": "x\n"})
    repo.tag("v0.33.0")
    pins = [
        Pin(id="tag", version="0.31.0", commit="v0.32.0"),
        Pin(id="version", version="0.32.0+cpu"),
        Pin(id="post", version="0.33.0"),
        Pin(id="short", version="0", commit=fix[:10]),
        Pin(id="dev", version=f"0.33.1.dev3+g{fix[:9]}"),
        Pin(id="nowhere", version="0.99.0"),
        Pin(id="odd", version="0", commit="--upload-pack=x\nrefs/heads/main"),
        Pin(id="no-version", version="nightly"),
    ]
    pull = merged(1, fix[:10])
    facts = await GitMirror(repo.mirror(repo.path.parent / "m.git")).lineage([pull], pins)
    found = {id_: fact.lineage for (_, id_), fact in facts.items()}
    known = dict.fromkeys(["tag", "version", "post", "short", "dev"], Lineage.ANCESTOR)
    assert found == known | dict.fromkeys(["nowhere", "odd", "no-version"], Lineage.UNKNOWN)
    assert "v0.99.0" in facts[pull.ref, "nowhere"].evidence


async def test_a_branch_that_is_called_like_a_commit(repo):
    """git would take the branch; what is meant is the commit."""
    fix = repo.commit("Fix (#1)", **{"engine.py": lines(40, line20="fixed")})
    repo.git("branch", "abcdef1", fix)
    [fact] = await ask(repo, merged(1, fix), "abcdef1")
    assert fact.lineage is Lineage.UNKNOWN


async def test_issues_and_other_repositories_are_unknown(repo):
    """The numbers at the ends of subjects are those of the mirrored repository."""
    fix = repo.commit("Fix (#1)", **{"engine.py": lines(40, line20="fixed")})
    [fact] = await ask(repo, unmerged(1, is_issue=True), fix)
    assert fact.lineage is Lineage.UNKNOWN
    foreign = Pull(ref=Ref("ada/fork", 1), state=State.MERGED, checked_at=0.0, merge_commit=fix)
    [fact] = await ask(repo, foreign, fix)
    assert fact.lineage is Lineage.UNKNOWN
    moved = Pull(ref=Ref("old/name", 9), state=State.MERGED, checked_at=0.0, merge_commit=fix, now_at=Ref(UPSTREAM, 1))
    [fact] = await ask(repo, moved, fix)
    assert fact.lineage is Lineage.ANCESTOR


async def test_a_shallow_mirror_is_refused(repo):
    """There a commit that was never fetched looks like one that is not an ancestor."""
    fix = repo.commit("Fix (#1)", **{"engine.py": lines(40, line20="fixed")})
    tip = repo.commit("Later (#2)", **{"other.py": "x\n"})
    shallow = GitMirror(repo.mirror(repo.path.parent / "shallow.git", "--depth=1"))
    pull = merged(1, fix)
    facts = await shallow.lineage([pull], [pin(tip)])
    assert facts[pull.ref, "p"].lineage is Lineage.UNKNOWN
    assert "shallow" in facts[pull.ref, "p"].evidence
    assert "shallow" in (await shallow.update() or "")


async def test_a_blobless_mirror_tells_the_same(repo):
    """Commits and trees are enough, but for a copy that does not say so: that takes the remote, or is unknown."""
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("config", "uploadpack.allowAnySHA1InWant", "true")
    repo.branch("releases/v1")
    repo.checkout("main")
    fix = repo.commit("Fix (#1)", **{"engine.py": lines(40, line20="fixed")})
    other = repo.commit("Other (#2)", **{"other.py": "x\n"})
    repo.checkout("releases/v1")
    copy = repo.pick(fix, "Backport")
    path = repo.mirror(repo.path.parent / "blobless.git", "--filter=blob:none")
    pulls = [merged(1, fix), merged(2, other), merged(3, NOWHERE)]
    pins = [pin(other, "main"), pin(copy, "release")]

    offline = await GitMirror(path, fetch=False).lineage(pulls, pins)
    online = await GitMirror(path).lineage(pulls, pins)
    assert {key: fact.lineage for key, fact in online.items()} == {
        (pulls[0].ref, "main"): Lineage.ANCESTOR,
        (pulls[0].ref, "release"): Lineage.CHERRY_PICKED,
        (pulls[1].ref, "main"): Lineage.ANCESTOR,
        (pulls[1].ref, "release"): Lineage.ABSENT,
        (pulls[2].ref, "main"): Lineage.UNKNOWN,
        (pulls[2].ref, "release"): Lineage.UNKNOWN,
    }
    differing = {key for key in online if offline[key].lineage is not online[key].lineage}
    assert differing == {(pulls[0].ref, "release")}
    assert offline[pulls[0].ref, "release"].lineage is Lineage.UNKNOWN


async def test_no_mirror_at_all(tmp_path):
    """The reason and the command that makes one."""
    pull = merged(1, NOWHERE)
    for place in (tmp_path / "nothing", tmp_path):
        mirror = GitMirror(place)
        facts = await mirror.lineage([pull], [pin(NOWHERE)])
        assert facts[pull.ref, "p"].lineage is Lineage.UNKNOWN
        assert "git clone --bare" in facts[pull.ref, "p"].evidence
        assert "git clone --bare" in (await mirror.update() or "")


async def test_git_is_not_installed(repo, monkeypatch, tmp_path):
    """Unknown, and said."""
    path = repo.mirror(tmp_path / "m.git")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    pull = merged(1, NOWHERE)
    facts = await GitMirror(path).lineage([pull], [pin(NOWHERE)])
    assert "git cannot be run" in facts[pull.ref, "p"].evidence


async def test_an_update_brings_commits_tags_and_new_branches(repo, tmp_path):
    """And what could not be told before is told now; a branch that was forced back keeps what a pin was made of."""
    mirror = GitMirror(repo.mirror(tmp_path / "m.git"))
    fix = repo.commit("Fix (#1)", **{"engine.py": lines(40, line20="fixed")})
    repo.tag("v1.0.0")
    pull, one = merged(1, fix), Pin(id="p", version="1.0.0")
    assert (await mirror.lineage([pull], [one]))[pull.ref, "p"].lineage is Lineage.UNKNOWN
    assert await mirror.update() is None
    assert (await mirror.lineage([pull], [one]))[pull.ref, "p"].lineage is Lineage.ANCESTOR
    repo.git("tag", "-d", "v1.0.0")
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.commit("Another history (#2)", **{"other.py": "x\n"})
    assert await mirror.update() is None
    again = GitMirror(tmp_path / "m.git")
    assert (await again.lineage([pull], [one]))[pull.ref, "p"].lineage is Lineage.ANCESTOR


async def test_an_update_that_fails_is_told_and_changes_nothing(repo, tmp_path):
    """The remote is gone: what is there is used all the same. Credentials of its address are not told."""
    fix = repo.commit("Fix (#1)", **{"engine.py": lines(40, line20="fixed")})
    path = repo.mirror(tmp_path / "m.git")
    shutil.rmtree(repo.path)
    mirror = GitMirror(path)
    assert "could not be brought up to date" in (await mirror.update() or "")
    pull = merged(1, fix)
    assert (await mirror.lineage([pull], [pin(fix)]))[pull.ref, "p"].lineage is Lineage.ANCESTOR
    (path / "config").write_text(
        (path / "config").read_text().replace(f"file://{repo.path}", "http://ada:s3cret@127.0.0.1:9/x.git")
    )
    told = await mirror.update() or ""
    assert "127.0.0.1:9" in told
    assert "s3cret" not in told


@pytest.mark.parametrize("way", ["cancelled", "deadline"])
async def test_a_remote_that_says_nothing_holds_nobody(repo, tmp_path, monkeypatch, way):
    """The fetch ends with all its children, whoever ends it; what is in the mirror can be read afterwards."""
    fix = repo.commit("Fix (#1)", **{"engine.py": lines(40, line20="fixed")})
    path = repo.mirror(tmp_path / "m.git")
    reached = asyncio.Event()
    gone = asyncio.Event()

    async def silent(reader, writer):
        reached.set()
        await reader.read()
        writer.close()
        gone.set()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    settings = (path / "config").read_text()
    (path / "config").write_text(settings.replace(f"file://{repo.path}", f"git://127.0.0.1:{port}/x.git"))
    mirror = GitMirror(path)
    if way == "deadline":
        monkeypatch.setattr(git_module, "FETCH_SECONDS", 0.5)
        assert "took longer" in (await mirror.update() or "")
    else:
        update = asyncio.create_task(mirror.update())
        async with asyncio.timeout(60):
            await reached.wait()
        update.cancel()
        await asyncio.gather(update, return_exceptions=True)
        assert update.cancelled()
        async with asyncio.timeout(60):
            await gone.wait()
    server.close()
    await server.wait_closed()
    pull = merged(1, fix)
    assert (await mirror.lineage([pull], [pin(fix)]))[pull.ref, "p"].lineage is Lineage.ANCESTOR


async def test_nothing_is_fetched_where_that_is_off(repo, tmp_path):
    """The operator keeps the mirror."""
    path = repo.mirror(tmp_path / "m.git")
    repo.commit("Fix (#1)", **{"engine.py": lines(40, line20="fixed")})
    before = (path / "packed-refs").read_text()
    assert await GitMirror(path, fetch=False).update() is None
    assert (path / "packed-refs").read_text() == before


async def test_a_work_tree_is_not_fetched_into(repo):
    """Branches that are checked out would move beneath their files; reading is safe."""
    fix = repo.commit("Fix (#1)", **{"engine.py": lines(40, line20="fixed")})
    mirror = GitMirror(repo.path / ".git")
    assert "not bare" in (await mirror.update() or "")
    pull = merged(1, fix)
    assert (await mirror.lineage([pull], [pin(fix)]))[pull.ref, "p"].lineage is Lineage.ANCESTOR


async def test_a_damaged_mirror_is_unknown(repo, tmp_path):
    """A history that cannot be read whole tells nothing: half of it would look like an absence."""
    first = repo.commit("Fix (#1)", **{"engine.py": lines(40, line20="fixed")})
    tip = repo.commit("Later (#2)", **{"other.py": "x\n"})
    path = repo.mirror(tmp_path / "m.git")
    pack = next((path / "objects" / "pack").glob("*.pack"))
    moved = tmp_path / pack.name
    pack.rename(moved)
    pack.with_suffix(".idx").unlink()
    with moved.open("rb") as packed:
        subprocess.run(["git", "--git-dir", path, "unpack-objects", "-q"], stdin=packed, check=True)
    (path / "objects" / first[:2] / first[2:]).unlink()
    pull = unmerged(77)
    facts = await GitMirror(path).lineage([pull], [pin(tip)])
    assert facts[pull.ref, "p"].lineage is Lineage.UNKNOWN


async def test_settings_of_the_user_change_nothing(repo, tmp_path, monkeypatch):
    """Signatures, colours, notes, external diffs and abbreviations are for people's eyes."""
    settings = tmp_path / "gitconfig"
    settings.write_text(
        "[log]\nshowSignature = true\ndecorate = full\nabbrevCommit = true\nfollow = true\n"
        "[color]\nui = always\n[diff]\nexternal = /bin/false\nnoprefix = true\ncontext = 0\n"
        "[format]\npretty = oneline\n[core]\nabbrev = 4\n[i18n]\nlogOutputEncoding = latin1\n[grep]\npatternType = perl\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    repo.branch("releases/v1")
    repo.checkout("main")
    fix = repo.commit("Fix (#1)", **{"engine.py": lines(40, line20="fixed")})
    repo.checkout("releases/v1")
    copy = repo.pick(fix, "Backport")
    undone = repo.revert(copy)
    copied, reverted = await ask(repo, merged(1, fix), copy, undone)
    assert copied.lineage is Lineage.CHERRY_PICKED
    assert reverted.lineage is Lineage.REVERTED


async def test_what_was_found_once_is_not_looked_for_again(repo, tmp_path):
    """A pin's history does not change: only new questions cost anything, and unknown ones are asked again."""
    fix = repo.commit("Fix (#1)", **{"engine.py": lines(40, line20="fixed")})
    path = repo.mirror(tmp_path / "m.git")
    mirror = GitMirror(path, fetch=False)
    pulls = [merged(1, fix), unmerged(2)]
    first = await mirror.lineage(pulls, [pin(fix)])
    calls = tmp_path / "calls"
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {calls}\nexec {shutil.which("git")} "$@"\n')
    program.chmod(0o755)
    os.environ["PATH"] = f"{program.parent}:{os.environ['PATH']}"
    try:
        assert await mirror.lineage(pulls, [pin(fix)]) == first
    finally:
        os.environ["PATH"] = os.environ["PATH"].partition(":")[2]
    assert " log " not in calls.read_text()
    assert "cat-file" in calls.read_text()
