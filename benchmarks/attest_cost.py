"""What attestation takes from the start of a real engine, and afterwards."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.builds import CACHE, PIN, ROOT
from benchmarks.figures import Figure, Figures, Target
from genesisd.demo.locate import locate
from genesisd.pins.catalog import find_pin, load_pins
from genesisd.pins.environment import find_environment
from tests.helpers import engine_build
from tests.real.serving import RealVllm, serving

STEADY = 5
"""Looks after the start by which the cost of one is told."""
TIMER = """
    import json, os, time
    begin = time.perf_counter()
    import genesisd_attest as attest
    told = {"import": time.perf_counter() - begin, "looks": []}
    inner = attest.Watch.look

    def look(self):
        begin = time.thread_time()
        inner(self)
        told["looks"].append(time.thread_time() - begin)
        with open(f"{os.environ['GENESIS_ATTEST_DIR']}/{os.getpid()}.times", "w") as file:
            json.dump(told, file)

    attest.Watch.look = look

    def register():
        begin = time.perf_counter()
        attest.register()
        told["register"] = time.perf_counter() - begin
"""


def attested(rounds: int) -> Figures:
    """Attestation in the real engine on the demonstration's model. Its plugin is loaded and called in the way of the
    start (wall time); it looks in a thread of its own (CPU time, most of which waits for nobody)."""
    environment = find_environment(find_pin(load_pins(ROOT / "etc" / "pins.yaml"), PIN), CACHE)
    if environment is None:
        print(f"attested: skipped, {PIN} is not built in {CACHE} (make pin)", file=sys.stderr)
        return []
    start = Figure("attestation in the start of a process", "s", Target(0.5, "max"), digits=3)
    call = Figure("of it in the way of the start", "s", digits=4)
    look = Figure("a look once all is loaded, every second", "ms", digits=2)
    build = engine_build.make(environment, CACHE)
    engine = RealVllm(environment.python, environment.vllm)
    for _ in range(min(rounds, 3)):
        with tempfile.TemporaryDirectory(prefix="ga-", dir="/tmp") as folder:
            timer, reports = Path(folder, "timer"), Path(folder, "reports")
            timer.mkdir()
            reports.mkdir()
            extra = engine_build.environment_of(build, reports, engine_build.lay_plugin(timer, "timer", TIMER))
            with serving(engine, locate().path, (), extra):
                begun = _times(reports)
                time.sleep(STEADY + 1)
                ended = _times(reports)
        for name, one in begun.items():
            call.add("genesisd", one["import"] + one["register"])
            start.add("genesisd", one["import"] + one["register"] + sum(one["looks"]))
            look.add("genesisd", *(1000 * seconds for seconds in ended[name]["looks"][-STEADY:]))
    return [start, call, look]


def _times(folder: Path) -> dict[str, dict[str, object]]:
    return {one.stem: json.loads(one.read_text()) for one in folder.glob("*.times")}
