"""A real vLLM that runs a patched build: shown by each of its processes, seen from outside, and refused when not so.

One worker serves all tests; each leaves it as it found it.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from genesisd.demo.locate import locate
from tests.helpers import engine_build
from tests.real.replies import ask, expected, fits, golden_cases
from tests.real.serving import RealVllm
from tests.real.supervised import CACHE, Rig, example, real_box, until


def _first(case: dict[str, Any]) -> dict[str, Any]:
    """What the released server says otherwise than it should."""
    return next(iter(case["differs"]), {})


CASES = [case for case in golden_cases(locate().path) if fits(case, "hermes", strict=True)]
LITERAL = next(case for case in CASES if {"tool_parser": "hermes", "stream": True}.items() <= _first(case).items())
ASIDE = """
    import os, sys

    def register():
        sys.path[:] = [path for path in sys.path if "/builds/" not in path]
        os.environ["PYTHONPATH"] = ""
"""
"""A second plugin, as anybody may have one installed: what the process starts no longer finds the build."""
SWITCH = "GENESIS_ENABLE_P61C_QWEN3CODER_DEFERRED_COMMIT"
HERMES = "vllm/tool_parsers/hermes_tool_parser.py"


@pytest.fixture(autouse=True)
def _no_child_left() -> None:
    """Not asked here: tests replace the module's daemon, and the box looks at its end that nothing is left."""


@pytest.fixture(scope="module")
def rig(real_vllm_env: RealVllm) -> Iterator[Rig]:
    """The worker of etc/examples/cpu.yaml."""
    settings = example()
    settings["probes"] = {
        "readiness": [{"kind": "attestation", "grace": "5s"}, {"kind": "port-owner"}, {"kind": "generation"}]
    }
    with real_box({"tiny": settings}) as box:
        yield Rig(box, "tiny")


def attested(rig: Rig) -> dict[str, Any]:
    """What the worker's processes run, looked at now."""
    found: dict[str, Any] = rig.box.ask("patches", "tiny")
    return found


def build_of(rig: Rig) -> Path:
    """The folder of the build that it runs."""
    return CACHE / "builds" / str(rig.look()["build"]["build"])


def restarted(rig: Rig) -> None:
    """Down, and wanted up again."""
    rig.box.ask("order", "stop", "tiny")
    rig.reaches("stopped")
    rig.box.ask("order", "start", "tiny")


def refused(rig: Rig, incarnation: int) -> str:
    """The finding of a life that is not allowed to be ready."""

    def there() -> dict[str, Any] | None:
        look = rig.look()
        if look["incarnation"] <= incarnation:
            return None
        assert look["phase"] != "ready", f"it serves: {look['build']}"
        assert look["incarnation"] == incarnation + 1, f"it crashed instead: {look['last_exit']}"
        return look if (look["build"] or {}).get("state") == "refused" else None

    found = until(there)
    assert found["ready_for"] is None
    time.sleep(5)  # and it stays so: readiness is asked again every few seconds
    after = rig.look()
    assert (after["phase"] in {"starting", "warming"}, after["incarnation"]) == (True, found["incarnation"])
    return str(after["build"]["text"])


def test_a_worker_is_ready_once_every_process_is_attested(rig: Rig) -> None:
    """API server, EngineCore and Worker each report, and what is loaded is the code of the build."""
    rig.ready()
    found = attested(rig)
    assert found["build"]["state"] == "attested"
    assert [role["role"] for role in found["roles"] if role["processes"]] == ["api", "engine", "worker"]
    assert (found["findings"], found["faults"]) == ([], [])
    by_id = {patch["id"]: patch for patch in found["patches"]}
    assert (by_id["P61c"]["verdict"], by_id["P61c"]["standing"]) == ("applied", "attested")
    assert max(role["live"] for role in found["roles"] if role["role"] == "api") > 0


def test_a_literal_opener_in_prose_is_cut_without_the_patch_and_whole_with_it(rig: Rig) -> None:
    """The same request, through the front, to the pinned engine and to the patched one."""
    rig.ready()
    assert ask(rig.door, LITERAL, stream=True) == expected(LITERAL, "hermes", stream=True, patched=True)
    until(lambda: {one["id"]: one for one in attested(rig)["patches"]}["P61c"]["use"] == "engaged")
    before, env = rig.look(), rig.box.settings["workers"]["tiny"]["env"]
    declared = rig.box.settings["workers"]["tiny"].pop("patches")
    switches = {name: env.pop(name) for name in list(env) if name.startswith("GENESIS_ENABLE_")}
    assert SWITCH in switches
    rig.box.write()
    rig.box.ask("reload")
    plain = rig.back(before)
    assert plain["build"]["build"] is None
    assert ask(rig.door, LITERAL, stream=True) == expected(LITERAL, "hermes", stream=True)
    assert expected(LITERAL, "hermes", stream=True) != expected(LITERAL, "hermes", stream=True, patched=True)
    env.update(switches)
    rig.box.settings["workers"]["tiny"]["patches"] = declared
    rig.box.write()
    rig.box.ask("reload")
    rig.back(plain)


def test_the_next_daemon_knows_what_the_worker_that_it_adopts_runs(rig: Rig) -> None:
    """kill -9 of the daemon: the worker goes on, and its build is attested anew by the next one."""
    before = rig.ready()
    rig.box.kill()
    rig.box.start()
    after = until(lambda: (look := rig.look())["build"] and look["build"]["state"] == "attested" and look)
    assert (after["pid"], after["build"]["build"]) == (before["pid"], before["build"]["build"])


def test_a_build_that_was_tampered_with_never_serves(rig: Rig) -> None:
    """A patched function is changed on disk: the process that loads it is named, with the function."""
    before = rig.ready()
    build = build_of(rig)
    path = build / HERMES
    pristine = path.read_text()
    told = '"Error in extracting tool call from response."'  # stands once, in the function that reads whole answers
    assert pristine.count(told) == 1
    try:
        path.write_text(pristine.replace(told, '"tampered with"'))
        restarted(rig)
        text = refused(rig, before["incarnation"])
        findings = attested(rig)["findings"]
        assert "API server (pid" in text
        assert "hermes_tool_parser.Hermes2ProToolParser.extract_tool_calls" in text
        assert any(HERMES in one for one in findings), findings
    finally:
        path.write_text(pristine)
        shutil.rmtree(build)
        build.with_name(build.name + ".json").unlink()
    restarted(rig)  # the build is made anew
    assert rig.ready()["build"]["state"] == "attested"


def test_a_process_that_runs_the_unpatched_engine_never_serves(rig: Rig, tmp_path: Path) -> None:
    """EngineCore is started without the build: it reports nothing, and that is refused by name."""
    before = rig.ready()
    engine_build.lay_plugin(tmp_path, "aside", ASIDE)
    settings = rig.box.settings["workers"]["tiny"]
    settings["env"]["PYTHONPATH"] = str(tmp_path)
    rig.box.write()
    rig.box.ask("reload")
    text = refused(rig, before["incarnation"])
    assert "EngineCore (pid" in text
    assert "has not reported" in text
    del settings["env"]["PYTHONPATH"]
    rig.box.write()
    rig.box.ask("reload")
    assert rig.ready()["build"]["state"] == "attested"
