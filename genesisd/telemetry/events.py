"""The one list of event kinds: whether each is kept in the journal, and how loud it is in the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class EventKind:
    """How one kind is treated."""

    level: Level = "info"
    journal: bool = True


KINDS: dict[str, EventKind] = {
    "worker_phase": EventKind(),
    "worker_spawned": EventKind(),
    "worker_exited": EventKind("warning"),
    "worker_restart": EventKind("warning"),
    "worker_ready": EventKind(),
    "worker_adopted": EventKind(),
    "worker_removed": EventKind(),
    "shim_lost": EventKind("warning"),
    "gate_shut": EventKind(),
    "probe_result": EventKind("debug", journal=False),
    "probe_changed": EventKind(),
    "probe_weighed": EventKind("debug", journal=False),
    "liveness_failed": EventKind("warning"),
    "judge_told": EventKind("warning"),
    "judge_restart": EventKind("warning"),
    "judge_rollback": EventKind("warning"),
    "judge_bisect": EventKind("warning"),
    "judge_hold": EventKind("error"),
    "judge_cured": EventKind(),
    "bisection_step": EventKind(),
    "bisection_ended": EventKind(),
    "scratch_started": EventKind(),
    "scratch_ended": EventKind(),
    "patch_quarantined": EventKind("warning"),
    "patch_released": EventKind(),
    "card_quarantined": EventKind("error"),
    "card_released": EventKind(),
    "incident_opened": EventKind("warning"),
    "incident_closed": EventKind(),
    "golden_recorded": EventKind(),
    "evidence_saved": EventKind(),
    "config_reloaded": EventKind(),
    "config_rejected": EventKind("error"),
    "effect_failed": EventKind("error"),
    "order": EventKind(),
    "daemon_started": EventKind(),
    "daemon_stopping": EventKind(),
    "pin_build": EventKind("debug", journal=False),
    "pin_built": EventKind(),
    "pin_failed": EventKind("error"),
    "build_step": EventKind("debug", journal=False),
    "build_made": EventKind(),
    "build_failed": EventKind("error"),
    "patches_summary": EventKind(),
    "patches_lost": EventKind("warning"),
    "attestation_changed": EventKind(),
    "attestation_refused": EventKind("error"),
    "store_error": EventKind("error"),
    "front_started": EventKind(),
    "front_adopted": EventKind(),
    "front_lost": EventKind("warning"),
    "front_failed": EventKind("error"),
    "front_restarted": EventKind("warning"),
    "watch_sweep_started": EventKind(),
    "watch_sweep_step": EventKind("debug", journal=False),
    "watch_sweep_ended": EventKind(),
    "watch_sweep_failed": EventKind("warning"),
    "watch_row_changed": EventKind(),
    "watch_row_moved": EventKind("warning"),
    "watch_file_written": EventKind(),
    "watch_file_refused": EventKind("warning"),
    "watch_source_failed": EventKind("warning"),
    "watch_source_back": EventKind(),
    "watch_stale": EventKind("warning"),
    "watch_decision_opened": EventKind(),
    "watch_decision_urgent": EventKind("warning"),
    "watch_decision_passed": EventKind(),
    "watch_decision_answered": EventKind(),
    "watch_release_seen": EventKind(),
    "watch_pull_seen": EventKind(),
    "watch_trial_wanted": EventKind(),
    "watch_report_written": EventKind(),
}
OTHER = EventKind()
"""A kind that the list lacks is kept and told, and counted as ``other``."""


def kind_of(name: str) -> EventKind:
    """How to treat events of this name."""
    return KINDS.get(name, OTHER)
