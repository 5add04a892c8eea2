"""THE list of what is exported. docs/metrics.md is checked against it."""

from __future__ import annotations

from collections.abc import Collection
from typing import get_args

from genesisd.incidents.model import CAUSES
from genesisd.judge.model import Step
from genesisd.patches.resolve import Gate
from genesisd.patches.spec import Role
from genesisd.patches.verdicts import Verdict
from genesisd.probes.model import Stage
from genesisd.probes.spec import Action, ProbeSpec
from genesisd.supervisor.model import Phase
from genesisd.telemetry.events import KINDS
from genesisd.telemetry.families import Family, Kind
from genesisd.watch.decisions import QUIET, DecisionKind, Urgency
from genesisd.watch.kinds import SweepKind
from genesisd.watch.model import State
from genesisd.watch.result import SweepOutcome

G, C = Kind.GAUGE, Kind.COUNTER
OTHER = "other"

PHASES = tuple(str(phase) for phase in Phase)
STAGES = tuple(str(stage) for stage in Stage)
PROBE_KINDS = tuple(str(one.model_fields["kind"].default) for one in get_args(get_args(ProbeSpec)[0]))
VERDICTS = ("success", "failure", "unknown")
SKIPPED = "skipped"
"""The fourth verdict. Only probes of the correctness stage may be skipped."""
UNDECIDED = "undecided"
STANDINGS = ("good", "bad", UNDECIDED, SKIPPED)
ACTIONS = tuple(str(action) for action in Action)
NO_STEP = "none"
STEPS = tuple(str(step) for step in Step)
JUDGE_STEPS = (NO_STEP, *STEPS)
"""Those of ``judge.model``, from below, and ``none`` where nothing is wrong."""
EVENTS = (*KINDS, OTHER)
EXIT_CAUSES = (
    "crash", "killed", "stopped", "unknown", "bad-config", "port-taken", "kv-too-large", "kv-too-small", "bad-weights",
    "bad-model", "bad-environment", "cuda-oom", "cuda-error", "host-oom", "engine-dead", "illegal-memory-access", "nccl", "xid", "hung", OTHER,
)  # fmt: skip
"""Those of ``supervisor.classify``."""
RESTART_CAUSES = (
    *EXIT_CAUSES[:-1], "start-timeout", "startup-wedged", "spawn-failed", "unexpected", "was-unkillable", "shim-lost",
    "wrong-output", OTHER,
)  # fmt: skip
"""A death, a hang, a start that came to nothing, answers that were wrong. Every ``spawn-...`` counts as ``spawn-failed``."""
INCIDENT_CAUSES = (*CAUSES, OTHER)
BUILD_RESULTS = ("built", "failed")
UNKNOWN = "unknown"
PATCH_VERDICTS = (*(str(gate) for gate in Gate), *(str(verdict) for verdict in Verdict), UNKNOWN)
PATCH_ROLES = tuple(str(role) for role in Role)
NOT_ATTESTED = "none"
ATTESTED_STATES = ("attested", "pending", "refused", NOT_ATTESTED)
"""Those of ``attest.model``, and ``none`` where there is nothing to attest."""

ROW_STATES = (*(str(state) for state in State), UNKNOWN)
"""Those of ``watch.model``, and ``unknown`` for a row that upstream never answered for."""
DECISIONS = tuple(str(kind) for kind in DecisionKind if kind not in QUIET)
URGENCIES = tuple(str(urgency) for urgency in Urgency)
SWEEPS = (*(str(kind) for kind in SweepKind), OTHER)
SWEEP_OUTCOMES = tuple(str(outcome) for outcome in SweepOutcome)
QUESTIONS = ("rows", "recent", "files", "diff", "index", OTHER)
"""What is asked: about rows, what is new, a pull request's files or its diff; and releases, of the package index."""


def one_of(value: object, known: Collection[str], otherwise: str = OTHER) -> str:
    """The value if it is known, else another word: labels stay bounded whatever arrives."""
    text = str(value)
    return text if text in known else otherwise


def daemon(name: str, kind: Kind, text: str, *labels: str) -> Family:
    """A family of the daemon itself."""
    return Family(f"genesisd_{name}", kind, text, labels, per_worker=False)


def worker(name: str, kind: Kind, text: str, *labels: str, buckets: tuple[float, ...] = ()) -> Family:
    """A family with a ``worker`` label."""
    return Family(f"genesisd_{name}", kind, text, labels, buckets=buckets)


BUILD_INFO = daemon("build_info", G, "Always 1; the labels say what runs.", "version", "python")
UP = daemon("up", G, "1 while the daemon serves this page.")
CONFIG_OK = daemon("config_last_reload_successful", G, "Whether the newest reading of the configuration succeeded.")
CONFIG_AT = daemon("config_last_reload_timestamp_seconds", G, "When the configuration in use was read.")
JOURNAL_EVENTS = daemon("journal_events_total", C, "Events that were kept in the journal.", "kind")
STORE_ERRORS = daemon("store_errors_total", C, "Writes to the store that failed, and damage found in it.")
SINK_ERRORS = daemon("sink_errors_total", C, "Events that a receiver (journal, log, stream) could not take.")
LOOP_LAG = daemon("loop_lag_seconds", G, "Longest delay of the event loop in the last 15 seconds.")
CARD_TOTAL = daemon("card_memory_total_bytes", G, "Memory of a card.", "card")
CARD_FREE = daemon("card_memory_free_bytes", G, "Memory of a card that nobody holds.", "card")
FRONT_RESTARTS = daemon("front_restarts_total", C, "Times that the front process had to be started again.")
PIN_BUILDS = daemon("pin_builds_total", C, "Pin environments that were built, or failed to be.", "result")
CARDS_QUARANTINED = daemon("quarantined_cards", G, "Cards that no worker is started on.")
PATCHED_BUILDS = daemon("patched_builds_total", C, "Patched builds that were made, or failed to be.", "result")

WATCH_ROWS = daemon("watch_rows", G, "Rows of the watchlist, by what upstream last said of them.", "state")
WATCH_STALE = daemon("watch_rows_stale", G, "Rows for which upstream has not answered for longer than allowed.")
WATCH_OLDEST = daemon(
    "watch_oldest_check_timestamp_seconds", G, "Since when the row that has waited longest for an answer has waited."
)
WATCH_MAX_AGE = daemon("watch_max_age_seconds", G, "How old the answer about a row may be, as configured.")
WATCH_DECISIONS = daemon("watch_decisions_open", G, "Decisions that wait for a person.", "kind", "urgency")
WATCH_SWEEPS = daemon("watch_sweeps_total", C, "Sweeps of upstream that ended.", "kind", "outcome")
WATCH_SWEEP_SECONDS = daemon("watch_sweep_duration_seconds", G, "Time that the newest sweep took.", "kind")
WATCH_SWEEP_SUCCESS = daemon(
    "watch_sweep_last_success_timestamp_seconds",
    G,
    "When the newest sweep of the kind, or of a wider one, ended that did not fail; 0 before that.",
    "kind",
)
WATCH_SWEEP_PERIOD = daemon(
    "watch_sweep_period_seconds", G, "Longest time between two sweeps of the kind, as configured.", "kind"
)
WATCH_REQUESTS = daemon("watch_requests_total", C, "Questions to upstream and to the package index.", "kind")
WATCH_UNCHANGED = daemon("watch_requests_unchanged_total", C, "Of these, the ones answered by: nothing changed.")
WATCH_LIMIT = daemon(
    "watch_api_limit", G, "Requests that upstream lets us make in one of its periods, as it last told."
)
WATCH_REMAINING = daemon("watch_api_remaining", G, "Of these, what is left, as it last told.")

PHASE = worker("worker_phase", G, "1 for the phase that the worker is in, 0 for the others.", "phase")
PHASE_SINCE = worker("worker_phase_since_timestamp_seconds", G, "When the worker entered its phase.")
WANTED = worker("worker_wanted", G, "1 when the worker is meant to be up.")
READY = worker("worker_ready", G, "1 when a whole generation is proven and traffic is let in.")
INCARNATION = worker("worker_incarnation", G, "Number of the worker's newest life.")
RESTARTS = worker("worker_restarts_total", C, "Restarts that nobody asked for.", "cause")
EXITS = worker("worker_exits_total", C, "Deaths of the worker's leader.", "cause")
BUDGET = worker("worker_restart_budget_remaining", G, "Restarts that may still happen within the window.")
START = worker(
    "worker_start_seconds",
    Kind.HISTOGRAM,
    "Time from the spawn to the first proven generation.",
    buckets=(1, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600),
)
SHIM_LOSSES = worker("worker_shim_losses_total", C, "Times that the worker's shim died under it.")
PROBE_RESULTS = worker("probe_results_total", C, "Answers of probes.", "stage", "kind", "verdict")
PROBE_DURATION = worker("probe_duration_seconds", G, "Time that the newest ask of a probe took.", "stage", "kind")
PROBE_SUCCESS = worker(
    "probe_last_success_timestamp_seconds",
    G,
    "When a probe of another stage than correctness last succeeded; 0 before that.",
    "stage",
    "kind",
)
PROBE_PERIOD = worker("probe_period_seconds", G, "Time between two asks, as configured.", "stage", "kind")
FRONT_UP = worker("front_up", G, "1 when the worker's front answered the newest question.")
FRONT_OPEN = worker("front_open_connections", G, "Client connections that are open.")
FRONT_IN_FLIGHT = worker("front_requests_in_flight", G, "Requests that are begun and not completely answered.")
FRONT_UNANSWERED = worker("front_requests_unanswered", G, "Requests of which no byte of the answer has come.")
FRONT_HELD = worker("front_requests_held", G, "Requests that wait for a worker.")
FRONT_ANSWERED = worker("front_requests_answered_total", C, "Requests that were completely answered.")
FRONT_REFUSED = worker("front_requests_refused_total", C, "Requests that got 503 from the front.")
FRONT_OLDEST = worker("front_oldest_unanswered_seconds", G, "How long the oldest unanswered request has waited.")
PATCH_VERDICT = worker("patch_verdict", G, "1 for the verdict on the patch at the newest start.", "patch", "verdict")
PATCHES_LOST = worker("patches_lost", G, "Patches whose effect the last good start had and the newest lacks.")
ATTESTED = worker("worker_attested", G, "1 for what is known of the running code, 0 for the others.", "state")
PATCH_HITS = worker(
    "patch_hits", G, "Times that the patched code was reached in this life, as far as the patch tells.", "patch"
)
PATCH_NEVER = worker(
    "patch_never_engaged", G, "1 for a patch that tells and was not reached by any request so far.", "patch", "role"
)

PROBE_STANDING = worker(
    "probe_standing",
    G,
    "1 for how the probe stands; the other words have no series.",
    "stage",
    "kind",
    "standing",
    "action",
)
PROBE_CONCLUSIVE = worker(
    "probe_last_conclusive_timestamp_seconds",
    G,
    "When a correctness probe last got a yes or a no; 0 before that.",
    "stage",
    "kind",
)
PROBE_TOKENS = worker("probe_tokens_total", C, "Prompt and completion tokens that a correctness probe took.", "kind")
PROBE_SHARE = worker("probe_cost_share", G, "Share of users' tokens that correctness probes may take, as configured.")
PROBE_FLOOR = worker(
    "probe_cost_floor_tokens", G, "Tokens an hour that correctness probes may take in any case, as configured."
)
JUDGE_STEP = worker("judge_step", G, "1 for the highest step of the present episode, 0 for the others.", "step")
JUDGE_ACTIONS = worker("judge_actions_total", C, "Steps that the judge took.", "step")
ROLLED_BACK = worker("worker_rolled_back", G, "1 while the worker is started with an older build than is configured.")
INCIDENTS = worker("incidents_total", C, "Incidents that were opened, by the first cause that was seen.", "cause")
INCIDENT_OPEN = worker("incident_open", G, "1 while an incident of the worker goes on.")
PATCHES_QUARANTINED = worker("quarantined_patches", G, "Patches that the worker is started without, by quarantine.")
BISECTING = worker("bisection_running", G, "1 while it is looked for the patch to blame.")
BISECTION_RUNS = worker("bisection_runs_total", C, "Trials of sets of patches on a scratch worker.")
GOLDEN_AT = worker(
    "golden_recorded_timestamp_seconds", G, "When the golden of the running build was recorded; 0 where there is none."
)

WATCH_FAMILIES = (
    WATCH_ROWS, WATCH_STALE, WATCH_OLDEST, WATCH_MAX_AGE, WATCH_DECISIONS, WATCH_SWEEPS, WATCH_SWEEP_SECONDS,
    WATCH_SWEEP_SUCCESS, WATCH_SWEEP_PERIOD, WATCH_REQUESTS, WATCH_UNCHANGED, WATCH_LIMIT, WATCH_REMAINING,
)  # fmt: skip
"""Of the daemon; there while a watchlist is configured."""
DAEMON_FAMILIES = (
    BUILD_INFO, UP, CONFIG_OK, CONFIG_AT, JOURNAL_EVENTS, STORE_ERRORS, SINK_ERRORS, LOOP_LAG, CARD_TOTAL, CARD_FREE,
    FRONT_RESTARTS, PIN_BUILDS, PATCHED_BUILDS, CARDS_QUARANTINED, *WATCH_FAMILIES,
)  # fmt: skip
FRONT_FAMILIES = (
    FRONT_UP, FRONT_OPEN, FRONT_IN_FLIGHT, FRONT_UNANSWERED, FRONT_HELD, FRONT_ANSWERED, FRONT_REFUSED, FRONT_OLDEST,
)  # fmt: skip
PATCH_FAMILIES = (PATCH_VERDICT, PATCHES_LOST, ATTESTED, PATCH_HITS, PATCH_NEVER)
CORRECTNESS_FAMILIES = (
    PROBE_STANDING, PROBE_CONCLUSIVE, PROBE_TOKENS, PROBE_SHARE, PROBE_FLOOR, JUDGE_STEP, JUDGE_ACTIONS, ROLLED_BACK,
    INCIDENTS, INCIDENT_OPEN, PATCHES_QUARANTINED, BISECTING, BISECTION_RUNS, GOLDEN_AT,
)  # fmt: skip
WORKER_FAMILIES = (
    PHASE, PHASE_SINCE, WANTED, READY, INCARNATION, RESTARTS, EXITS, BUDGET, START, SHIM_LOSSES, PROBE_RESULTS,
    PROBE_DURATION, PROBE_SUCCESS, PROBE_PERIOD, *PATCH_FAMILIES, *CORRECTNESS_FAMILIES, *FRONT_FAMILIES,
)  # fmt: skip
FAMILIES = (*DAEMON_FAMILIES, *WORKER_FAMILIES)
"""In the order of the page. A worker whose front is off has no front series."""
