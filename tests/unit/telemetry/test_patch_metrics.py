"""What is exported of patches: each call replaces the one before, and labels stay bounded."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from genesisd.attest.model import State
from genesisd.patches.catalog import catalog
from genesisd.patches.resolve import Gate
from genesisd.patches.spec import Role
from genesisd.patches.verdicts import Verdict
from genesisd.supervisor.model import Phase, WorkerState
from genesisd.supervisor.spec import WorkerSpec
from genesisd.telemetry import names
from genesisd.telemetry.events import KINDS
from genesisd.telemetry.exposition import Exposition
from genesisd.telemetry.metrics import Metrics

ONE, TWO, *_ = (patch.id for patch in catalog())
SPEC = WorkerSpec(command=("x",))


@pytest.fixture
def metrics():
    made = Metrics()
    made.configure({"a": SPEC, "b": SPEC})
    return made


async def shown(metrics, family, worker="a"):
    """Label values but the worker's, and the value, of each series of a family."""
    text = b"".join(await Exposition(metrics).page()).decode()
    return {
        tuple(one.labels[name] for name in family.labels): one.value
        for found in text_string_to_metric_families(text)
        for one in found.samples
        if one.name == family.name and one.labels.get("worker", worker) == worker
    }


async def test_before_the_first_news_nothing_is_attested_and_nothing_lost(metrics):
    """A worker on a plain pin looks like this for ever."""
    assert await shown(metrics, names.ATTESTED) == {("attested",): 0, ("pending",): 0, ("refused",): 0, ("none",): 1}
    assert await shown(metrics, names.PATCHES_LOST) == {(): 0}
    for family in (names.PATCH_VERDICT, names.PATCH_HITS, names.PATCH_NEVER):
        assert await shown(metrics, family) == {}


async def test_a_start_replaces_the_verdicts_of_the_one_before(metrics):
    """One series a patch: an old verdict beside the new one would keep its alert up."""
    metrics.patches("a", {ONE: "anchor_missing", TWO: "applied"}, [ONE, TWO])
    assert await shown(metrics, names.PATCH_VERDICT) == {(ONE, "anchor_missing"): 1, (TWO, "applied"): 1}
    assert await shown(metrics, names.PATCHES_LOST) == {(): 2}
    metrics.patches("a", {ONE: "applied"}, ())
    assert await shown(metrics, names.PATCH_VERDICT) == {(ONE, "applied"): 1}
    assert await shown(metrics, names.PATCHES_LOST) == {(): 0}


async def test_a_worker_without_patches_has_no_verdicts(metrics):
    """One that went back to the plain pin loses those that it had; its neighbour keeps its own."""
    for worker in ("a", "b"):
        metrics.patches(worker, {ONE: "applied"}, [])
    metrics.patches("a", {}, [])
    assert await shown(metrics, names.PATCH_VERDICT) == {}
    assert await shown(metrics, names.PATCH_VERDICT, "b") == {(ONE, "applied"): 1}


@pytest.mark.parametrize("state", names.ATTESTED_STATES)
async def test_the_attested_state_is_one_hot(metrics, state):
    """Exactly one state has 1, whatever came before."""
    metrics.attestation("a", "refused", {}, {})
    metrics.attestation("a", state, {}, {})
    found = await shown(metrics, names.ATTESTED)
    assert {labels for labels, value in found.items() if value} == {(state,)}
    assert set(found) == {(one,) for one in names.ATTESTED_STATES}


async def test_engagement_replaces_what_was_said_before(metrics):
    """A patch that was reached at last is never again called idle; a new life counts from the start."""
    metrics.attestation("a", "attested", {ONE: 0, TWO: 9}, {ONE: "load_bearing"})
    assert await shown(metrics, names.PATCH_HITS) == {(ONE,): 0, (TWO,): 9}
    assert await shown(metrics, names.PATCH_NEVER) == {(ONE, "load_bearing"): 1}
    metrics.attestation("a", "attested", {ONE: 1}, {})
    assert await shown(metrics, names.PATCH_HITS) == {(ONE,): 1}
    assert await shown(metrics, names.PATCH_NEVER) == {}


async def test_words_that_nobody_knows_stay_bounded(metrics):
    """Ids become other, verdicts and roles unknown, and a strange state proves nothing."""
    strange = [f"strange{n}" for n in range(50)]
    metrics.patches("a", dict(zip(strange, strange, strict=True)) | {ONE: "strange"}, strange)
    metrics.attestation("a", "strange", dict.fromkeys(strange, 2), dict.fromkeys([*strange, ONE], "strange"))
    assert await shown(metrics, names.PATCH_VERDICT) == {("other", "unknown"): 1, (ONE, "unknown"): 1}
    assert await shown(metrics, names.PATCHES_LOST) == {(): 50}
    assert await shown(metrics, names.PATCH_HITS) == {("other",): 100}
    assert await shown(metrics, names.PATCH_NEVER) == {("other", "unknown"): 1, (ONE, "unknown"): 1}
    assert (await shown(metrics, names.ATTESTED))[("pending",)] == 1


async def test_news_of_patches_outlive_changes_of_state_and_a_reload(metrics):
    """They are of the newest start, which a reload does not touch."""
    metrics.patches("a", {ONE: "applied"}, [TWO])
    metrics.attestation("a", "attested", {ONE: 3}, {})
    metrics.worker_state("a", WorkerState(phase=Phase.READY))
    metrics.configure({"a": SPEC})
    assert await shown(metrics, names.PATCH_VERDICT) == {(ONE, "applied"): 1}
    assert await shown(metrics, names.PATCHES_LOST) == {(): 1}
    assert (await shown(metrics, names.ATTESTED))[("attested",)] == 1
    assert await shown(metrics, names.PATCH_HITS) == {(ONE,): 3}


async def test_a_worker_that_is_not_configured_is_ignored(metrics):
    """Late news must not bring a removed one back."""
    metrics.patches("gone", {ONE: "applied"}, [ONE])
    metrics.attestation("gone", "refused", {ONE: 1}, {ONE: "defensive"})
    assert 'worker="gone"' not in b"".join(await Exposition(metrics).page()).decode()


async def test_builds_are_counted_by_what_became_of_them(metrics):
    """Both results are there with 0 from the start, else increase() misses the first failure."""
    assert await shown(metrics, names.PATCHED_BUILDS) == {("built",): 0, ("failed",): 0}
    for kind in ("build_step", "build_made", "build_failed", "build_failed"):
        metrics.event(kind, None, {"build": "x"}, journalled=True)
    assert await shown(metrics, names.PATCHED_BUILDS) == {("built",): 1, ("failed",): 2}
    assert await shown(metrics, names.PIN_BUILDS) == {("built",): 0, ("failed",): 0}


def test_the_words_are_those_of_the_parts_that_say_them():
    """A new gate, verdict, role or state must not be shown as something else."""
    assert set(names.PATCH_VERDICTS) == {*Gate, *Verdict, "unknown"}
    assert len(names.PATCH_VERDICTS) == len(set(names.PATCH_VERDICTS))
    assert set(names.PATCH_ROLES) == set(Role)
    assert set(names.ATTESTED_STATES) == {*State, "none"}


def test_events_of_patches_are_as_loud_as_they_matter():
    """Steps of a build would fill the journal; a refusal must not be overlooked."""
    assert (KINDS["build_step"].level, KINDS["build_step"].journal) == ("debug", False)
    assert {KINDS[kind].level for kind in ("build_failed", "attestation_refused")} == {"error"}
    assert KINDS["patches_lost"].level == "warning"
    assert {KINDS[kind].level for kind in ("build_made", "patches_summary", "attestation_changed")} == {"info"}
