"""What a person reads of probes, incidents and quarantine."""

from __future__ import annotations

import time
from dataclasses import asdict, replace

import pytest

from genesisd.cli.correctness_text import (
    INCIDENTS_HEAD,
    PROBES_HEAD,
    QUARANTINE_HEAD,
    RUNS_HEAD,
    describe_incident,
    describe_replay,
    describe_run,
    incident_row,
    probe_row,
    quarantine_row,
    run_row,
)
from genesisd.cli.incidents import paragraph
from genesisd.cli.probes import explained, golden_line
from genesisd.cli.text import table
from genesisd.control.correctness_views import (
    GoldenView,
    HappeningView,
    IncidentView,
    ProbeRunView,
    ProbeStandingView,
    QuarantinedView,
    ReplayView,
)
from genesisd.errors import GenesisError

AT = 1_800_000_000.0
WRONG = "case capital, streamed: got 'Lyon', expected 'Paris'"
RUN = ProbeRunView(
    "main", "golden", "failure", WRONG, AT, 3, seconds=0.75, tokens=42, evidence={"case": "capital"},
    exchanges=({"path": "/v1/completions", "request": {"seed": 0}, "status": 200, "text": "Lyon"},),
)  # fmt: skip
INCIDENT = IncidentView(
    7, "main", 3, AT - 600, None, "wrong-output", "golden is bad", WRONG, None, ("golden", "logprob-drift"), "/x/7",
    (HappeningView(AT - 600, "probe", f"golden is bad: {WRONG}"), HappeningView(AT - 590, "restart", "as a first step")),
    ({"kind": "golden", "verdict": "failure", "summary": WRONG},),
)  # fmt: skip


@pytest.fixture(autouse=True)
def utc(monkeypatch):
    """Times are told in the reader's zone."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def shown(head, rows):
    return table(head, rows, width=None, colour=False)


def test_standings():
    """One that was never asked, and one that is due, say so."""
    good = ProbeStandingView("main", "correctness", "golden", "good", "success", "4 cases as recorded", 12.0, 12.0, 48.0, 60.0, 9, "quarantine", 4210)  # fmt: skip
    new = ProbeStandingView("main", "correctness", "needle", "undecided", due=-1.0)
    rows = [probe_row(asdict(one)) for one in (good, new)]
    assert shown(PROBES_HEAD, rows) == (
        "WORKER  STAGE        PROBE   STANDING   ASKED    NEXT    TOKENS  FOUND\n"
        "main    correctness  golden  good       12s ago  in 48s  4210    4 cases as recorded\n"
        "main    correctness  needle  undecided  never    in 0s   -       -\n"
    )


def test_runs():
    """A row an ask."""
    assert shown(RUNS_HEAD, [run_row(asdict(RUN))]) == (
        "WHEN                 PROBE   VERDICT  TOOK  TOKENS  FOUND\n"
        f"2027-01-15 08:00:00  golden  failure  0.8s  42      {WRONG}\n"
    )


def test_one_run_shows_what_was_asked_and_answered():
    """On one line each, without what could steer a terminal, and cut where it is long."""
    ill = replace(RUN, exchanges=({"path": "/p", "request": "a\n\x1b[2J b", "status": 500, "text": "x" * 1000},))
    said = describe_run(asdict(ill)).splitlines()
    assert said[:3] == [
        f"golden of main: failure: {WRONG}",
        "  took 0.8s, 42 tokens, incarnation 3",
        "  case: capital",
    ]
    assert said[3] == "  asked /p: a \N{REPLACEMENT CHARACTER}[2J b"
    assert said[4:] == [f"  got 500: {'x' * 400}…"]


@pytest.mark.parametrize(
    ("verdict", "count", "told"),
    [
        (
            "failure",
            3,
            ["  asked /v1/completions: {'seed': 0}", "  got 200: Lyon", "  2 more exchanges: --json shows all"],
        ),
        ("success", 1, ["  1 exchange: --json shows all"]),
        ("unknown", 0, []),
    ],
)
def test_only_the_exchange_that_led_to_the_verdict_is_shown(verdict, count, told):
    """A dozen right answers would push the verdict off the screen."""
    asked = replace(RUN, verdict=verdict, exchanges=RUN.exchanges * count)
    assert describe_run(asdict(asked)).splitlines()[3:] == told


def test_incidents_in_a_list():
    """How long it lasted, or has lasted; the second is closed."""
    closed = replace(INCIDENT, id=6, closed=AT - 535, cause="host-oom", title="killed for memory")
    assert shown(INCIDENTS_HEAD, [incident_row(asdict(one), AT) for one in (INCIDENT, closed)]) == (
        "ID  OPENED               FOR           WORKER  CAUSE         WHAT\n"
        "7   2027-01-15 07:50:00  10m00s, open  main    wrong-output  golden is bad\n"
        "6   2027-01-15 07:50:00  1m05s         main    host-oom      killed for memory\n"
    )


def test_one_incident_is_a_timeline():
    """Facts, then what happened, then how to ask again."""
    assert describe_incident(asdict(INCIDENT), AT) == (
        "incident 7 of main: golden is bad (wrong-output)\n"
        f"  {WRONG}\n"
        "  opened    2027-01-15 07:50:00, in incarnation 3\n"
        "  state     open for 10m00s\n"
        "  build     the plain pin, or not known\n"
        "  probes    golden, logprob-drift\n"
        "  evidence  /x/7\n"
        f"  2027-01-15 07:50:00  probe      golden is bad: {WRONG}\n"
        "  2027-01-15 07:50:10  restart    as a first step\n"
        "  asks that failed\n"
        f"    golden: {WRONG}\n"
        "  ask again: genesisctl replay 7 --worker main\n"
    )


def test_a_closed_incident_without_asks():
    """Nothing is offered that cannot be done."""
    said = describe_incident(asdict(replace(INCIDENT, closed=AT, recorded=(), build="cpu-1+a")), AT + 50)
    assert "  state     closed 2027-01-15 08:00:00, after 10m00s\n  build     cpu-1+a\n" in said
    assert "ask again" not in said


def test_quarantine():
    """A card is kept from all workers."""
    rows = [
        QuarantinedView("patch", "P61c", "main", "golden is good without it", AT, 7),
        QuarantinedView("card", "1", None, "Xid 79", AT),
    ]
    assert shown(QUARANTINE_HEAD, [quarantine_row(asdict(one)) for one in rows]) == (
        "WHAT   NAME  WORKER  SINCE                INCIDENT  WHY\n"
        "patch  P61c  main    2027-01-15 08:00:00  7         golden is good without it\n"
        "card   1     all     2027-01-15 08:00:00  -         Xid 79\n"
    )


@pytest.mark.parametrize(("same", "word"), [(True, "the same"), (False, "otherwise")])
def test_a_replay_is_then_and_now(same, word):
    """Both answers stand below each other."""
    view = ReplayView(7, "spare", "golden", "failure", "success", WRONG, "as recorded", same)
    assert describe_replay(asdict(view)) == (
        f"golden: {word} on spare\n  then failure: {WRONG}\n  now  success: as recorded\n"
    )


def test_what_was_recorded():
    """Where it lies, and which answers are a patch's doing."""
    view = GoldenView("main", "tiny", "cpu-0.32.0", "cpu-1+a", "/g.json", 4, "cpu-1", {"weather": "P61c"}, AT)
    assert golden_line(asdict(view), dry_run=False) == (
        "recorded 4 cases of tiny on cpu-1+a in /g.json; otherwise than the plain pin: weather (P61c)"
    )
    plain = replace(view, build=None, cases=1, differs={})
    assert golden_line(asdict(plain), dry_run=True) == "would record 1 case of tiny on the plain pin cpu-0.32.0"


def test_explanations():
    """A case may have an equals sign in its name, a patch has none."""
    assert explained("a=b=P61c") == ("a=b", "P61c")
    for wrong in ("capital", "=P61c", "capital="):
        with pytest.raises(GenesisError, match="explain"):
            explained(wrong)


def test_a_paragraph_fits_the_terminal():
    """Between words; in a pipe it is one line; control characters are gone either way."""
    text = "It answers\nwrong since\x1b 10 minutes, by the golden probe, and was restarted once."
    assert max(map(len, paragraph(text, 30).splitlines())) <= 30
    assert paragraph(text, None) == (
        "It answers wrong since\N{REPLACEMENT CHARACTER} 10 minutes, by the golden probe, and was restarted once."
    )
