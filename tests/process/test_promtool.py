"""Rules, page and dashboard in the eyes of Prometheus' own programs. They skip where those are absent."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import shutil
import subprocess
import time
import urllib.parse
from pathlib import Path

import aiohttp
import pytest
import yaml

from genesisd.patches.catalog import catalog
from genesisd.probes.spec import CORRECTNESS
from genesisd.supervisor.model import Phase, WorkerState
from genesisd.supervisor.ports import Card, FrontStats
from genesisd.supervisor.spec import WorkerSpec
from genesisd.telemetry import names
from genesisd.telemetry.exposition import Exposition
from genesisd.telemetry.metrics import Metrics
from genesisd.telemetry.server import MetricsServer, make_app
from genesisd.units import Address
from genesisd.watch.cost import Asked, Budget
from genesisd.watch.decisions import Decision, DecisionKind, KeptDecision, Urgency
from genesisd.watch.refs import UPSTREAM, Ref
from genesisd.watch.spec import WatchSpec
from tests.helpers.ports import free_port

pytestmark = pytest.mark.process

REPO = Path(__file__).parents[2]
RULES = REPO / "etc" / "prometheus" / "genesisd.rules.yml"
RULE_TESTS = sorted((REPO / "etc" / "prometheus" / "tests").glob("*.yml"))
DASHBOARD = json.loads((REPO / "etc" / "grafana" / "genesisd.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
EXPORTED = {family.name for family in names.FAMILIES} | {
    f"{names.START.name}{suffix}" for suffix in ("_bucket", "_sum", "_count")
}

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
needs_prometheus = pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not installed")


def promtool(*arguments, text=None, cwd=None):
    return subprocess.run(
        ["promtool", *map(str, arguments)],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        timeout=240,
    )


def filled():
    """Metrics in which everything has a value."""
    metrics = Metrics()
    metrics.configure(
        {
            f"w{n}": WorkerSpec(pin="cpu-0.32.0", model="tiny", listen=Address(host="127.0.0.1", port=9000 + n))
            for n in range(2)
        }
    )
    metrics.config_read(ok=True)
    metrics.cards([Card(0, 24 << 30, 1 << 30, {})])
    for name in ("w0", "w1"):
        metrics.worker_state(name, WorkerState(phase=Phase.READY, wanted=True, incarnation=2, since=time.monotonic()))
        metrics.front(name, FrontStats(open=1, in_flight=1, unanswered=1, answered=5, oldest_unanswered=0.5))
        metrics.event("worker_ready", name, {"seconds": 20.5}, journalled=True)
        metrics.event("worker_exited", name, {"cause": "crash"}, journalled=True)
        for stage, kind in (("readiness", "generation"), ("liveness", "progress")):
            fields = {"stage": stage, "kind": kind, "verdict": "success", "seconds": 0.02}
            metrics.event("probe_result", name, fields, journalled=False)
        first, second = (patch.id for patch in catalog()[:2])
        metrics.patches(name, {first: "applied", second: "superseded"}, [])
        metrics.attestation(name, "attested", {first: 3, second: 0}, {second: "defensive"})
        for probe in CORRECTNESS:
            metrics.probe_standing(name, "correctness", probe.kind, "good")
            metrics.probe_conclusive(name, "correctness", probe.kind, time.time())
            metrics.probe_tokens(name, probe.kind, 100)
        metrics.golden(name, time.time())
    for kind in ("build_made", "build_failed"):
        metrics.event(kind, None, {}, journalled=True)
    watched(metrics.watch, time.time())
    return metrics


def watched(watch, now):
    """An upstream that answered, and one decision that can wait."""
    watch.configure(WatchSpec(watchlist=Path("list.yaml")), now)
    watch.rows({"open": 2, "merged": 1})
    watch.oldest(now)
    review = Decision(kind=DecisionKind.REVIEW, row="", ref=Ref(UPSTREAM, 1), urgency=Urgency.LATER, reason="why")
    watch.decisions([KeptDecision(id=1, decision=review, opened=now, seen=now)])
    for kind in ("nightly", "hourly", "weekly"):
        watch.swept(kind, 2.5, "done", now)
    watch.asked(Asked(requests={"rows": 5}, unchanged=1, budget=Budget(limit=5000, remaining=4990)))


def expressions(panel):
    """As Grafana would send them, with everything selected."""
    return [target["expr"].replace("$worker", ".*") for target in panel["targets"]]


def alerts():
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def metric_names(expression):
    bare = re.sub(r'"[^"]*"', "", expression)
    return set(re.findall(r"\b(?:genesisd|process)_[a-z_]+", bare))


# --- without any program ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_an_alert_has_all_that_its_reader_needs(rule):
    """Severity, a time, a summary, a description, and a page that says what to do."""
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert "for" in rule
    assert rule["annotations"]["summary"]
    assert rule["annotations"]["description"]
    page, anchor = rule["annotations"]["runbook_url"].split("#")
    headings = re.findall(r"^## (\w+)$", (REPO / page).read_text(), re.MULTILINE)
    assert rule["alert"] in headings
    assert anchor == rule["alert"].lower()
    assert {name for name in metric_names(rule["expr"]) if name.startswith("genesisd")} <= EXPORTED


def test_every_alert_is_tested_to_fire_and_to_stay_quiet():
    """One without a test could be a typing error that never fires."""
    text = "".join(file.read_text() for file in RULE_TESTS)
    cases = re.findall(r'alertname="(\w+)", alertstate="firing"\}\n +eval_time: \w+\n +exp_samples:( \[\])?', text)
    assert {name for name, quiet in cases if quiet} == {rule["alert"] for rule in alerts()}
    assert {name for name, quiet in cases if not quiet} == {rule["alert"] for rule in alerts()}


def test_the_runbook_has_no_alert_that_does_not_exist():
    """Renamed alerts take their pages along."""
    headings = set(re.findall(r"^## (Genesisd\w+)$", (REPO / "docs" / "alerts.md").read_text(), re.MULTILINE))
    assert headings == {rule["alert"] for rule in alerts()}


def test_the_dashboard_can_be_imported_anywhere():
    """A stable uid, a chosen data source, a worker variable, ids that are unique, no overlap."""
    assert DASHBOARD["uid"] == "genesisd"
    assert DASHBOARD["schemaVersion"] >= 36
    assert "id" not in DASHBOARD
    variables = {one["name"]: one for one in DASHBOARD["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert "genesisd_worker_wanted" in variables["worker"]["definition"]
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    taken = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_shows_names_that_are_exported(panel):
    """With a unit, a description, and the chosen data source."""
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert panel["description"].endswith(".")
    for target in panel["targets"]:
        assert target["datasource"]["uid"] == "${datasource}"
        found = metric_names(target["expr"])
        assert found
        assert {name for name in found if name.startswith("genesisd")} <= EXPORTED
        if "worker_" in target["expr"] and "shim_losses" not in target["expr"]:
            assert '$worker"' in target["expr"]


def test_every_family_of_the_workers_is_on_the_dashboard_or_in_an_alert():
    """What nobody looks at should not be exported."""
    used = set()
    for text in [one for panel in PANELS for one in expressions(panel)] + [rule["expr"] for rule in alerts()]:
        used |= metric_names(text)
    for family in names.FAMILIES:
        assert any(name.startswith(family.name) for name in used), family.name


# --- with promtool ------------------------------------------------------------------------------------------------


@needs_promtool
async def test_the_page_has_no_lint():
    """promtool check metrics finds nothing to say."""
    page = b"".join(await Exposition(filled()).page()).decode()
    found = promtool("check", "metrics", text=page)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


@needs_promtool
def test_rules_and_sample_configuration_are_valid():
    """promtool check config reads both."""
    found = promtool("check", "config", RULES.parent / "prometheus.yml")
    assert found.returncode == 0, found.stdout + found.stderr


@needs_promtool
@pytest.mark.parametrize("file", RULE_TESTS, ids=lambda file: file.stem)
def test_alerts_fire_not_early_and_clear(file):
    """promtool test rules."""
    found = promtool("test", "rules", file.name, cwd=file.parent)
    assert found.returncode == 0, found.stdout + found.stderr


@needs_promtool
def test_panels_are_valid_promql(tmp_path):
    """Each expression as a recording rule."""
    rules = [
        {"record": f"panel:{panel['id']}:{n}", "expr": text.replace("$__rate_interval", "5m")}
        for panel in PANELS
        for n, text in enumerate(expressions(panel))
    ]
    file = tmp_path / "panels.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    found = promtool("check", "rules", file)
    assert found.returncode == 0, found.stdout + found.stderr


# --- with a real Prometheus ---------------------------------------------------------------------------------------


async def query(session, port, expression):
    url = f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(expression)}"
    async with session.get(url) as response:
        answer = await response.json()
    assert answer["status"] == "success", (expression, answer)
    return answer["data"]["result"]


@needs_prometheus
async def test_every_panel_shows_something_in_a_real_prometheus(tmp_path):
    """A loopback Prometheus scrapes a real page; each expression gives at least one series, no alert fires."""
    server = MetricsServer(make_app(Exposition(filled()), lambda: (True, {})), Address(host="127.0.0.1", port=0))
    await server.start()
    config = {
        "global": {"scrape_interval": "200ms", "evaluation_interval": "500ms"},
        "rule_files": [str(RULES)],
        "scrape_configs": [{"job_name": "genesisd", "static_configs": [{"targets": [f"127.0.0.1:{server.port}"]}]}],
    }
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config))
    port = free_port()
    with (tmp_path / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            "prometheus",
            f"--config.file={tmp_path}/prometheus.yml",
            f"--storage.tsdb.path={tmp_path}/db",
            f"--web.listen-address=127.0.0.1:{port}",
            stdout=log,
            stderr=log,
        )
    try:
        async with aiohttp.ClientSession() as session:
            wanted = {text: panel["title"] for panel in PANELS for text in expressions(panel)}
            deadline = time.monotonic() + 90
            while wanted:
                assert process.returncode is None, (tmp_path / "log").read_text()
                assert time.monotonic() < deadline, f"no series for {wanted}"
                with contextlib.suppress(aiohttp.ClientError):
                    wanted = {text: title for text, title in wanted.items() if not await query(session, port, text)}
                await asyncio.sleep(0.2)
            assert await query(session, port, 'ALERTS{alertstate="firing"}') == []
    finally:
        process.terminate()
        await process.wait()
        await server.stop()
