"""Everything that the real engine defines, foretold from its sources and looked for alive: no false refusal."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from genesisd.attest import plugin
from tests.real.serving import QUIET, RealVllm

MODULES = (
    "vllm.entrypoints.cli.main", "vllm.entrypoints.openai.api_server", "vllm.v1.engine.core", "vllm.v1.worker.cpu_worker",
    "vllm.v1.worker.gpu_worker", "vllm.v1.executor.multiproc_executor", "vllm.v1.core.sched.async_scheduler",
    "vllm.v1.spec_decode.ngram_proposer", "vllm.parser.qwen3", "vllm.tool_parsers.hermes_tool_parser",
    "vllm.model_executor.models.qwen3", "vllm.model_executor.layers.fused_moe", "vllm.ir.ops.layernorm",
)  # fmt: skip
SWAPPED_BY_ITSELF = {
    # On CPU the engine puts other code there when it is loaded.
    "vllm.v1.worker.gpu.buffer_utils.UvaBuffer.__init__",
    "vllm.v1.worker.gpu.buffer_utils.UvaBuffer.uva",
    "vllm.utils.torch_utils.async_tensor_h2d",
}
WRAPPED_BY_A_BASE = "__torch_dispatch__"
"""Torch wraps this method of whatever inherits its mode, without a decorator that could be seen."""
SCRIPT = """
import collections, importlib, json, os, sys
folder, packages, *modules = sys.argv[1:]
sys.path.insert(0, folder)
for name in modules:
    importlib.import_module(name)
import plugin
items = []
for name, module in list(sys.modules.items()):
    path = getattr(module, "__file__", None) or ""
    if name.partition(".")[0] == "vllm" and path.endswith(".py"):
        change = plugin.Change(os.path.relpath(path, packages), {"P": [""]})
        change.compare("/nonexistent", packages, whole=True)
        items += change.items
expected = collections.defaultdict(set)
optional = set()
for one in items:
    key = one["module"], one["name"], one["kind"]
    expected[key].add(one["digest"])
    if one["optional"]:
        optional.add(key)
watch = plugin.Watch("/nonexistent", packages, {"items": items})
watch.began = float("inf")  # files of a pristine tree change whenever a build links to them
report = watch.report()
counts, odd = collections.Counter(), []
for one in report["items"]:
    key = one["module"], one["name"], one["kind"]
    good = one["digest"] in expected[key] if one["state"] == "live" else key in optional
    counts[one["kind"], one["state"]] += good
    if not good:
        odd.append((".".join(key[:2]), one["state"], one.get("note", "")))
print(json.dumps([odd, {kind: counts[kind, "live"] for kind, _ in counts}]))
"""


def test_the_whole_loaded_engine_is_found_as_compiled(real_vllm_env: RealVllm, tmp_path: Path):
    """Of some twenty thousand things those differ that the engine swaps by itself, and no others."""
    packages = next(real_vllm_env.python.parents[1].glob("lib/python*/site-packages"))
    # The plugin's own folder holds modules whose names others could be looking for.
    (tmp_path / "plugin.py").write_bytes(Path(plugin.__file__).read_bytes())
    done = subprocess.run(
        [real_vllm_env.python, "-c", SCRIPT, str(tmp_path), str(packages), *MODULES],
        env={**os.environ, **QUIET, "HOME": str(tmp_path), "VLLM_LOGGING_LEVEL": "ERROR"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    odd, live = json.loads(done.stdout.splitlines()[-1])
    found = {name.removesuffix(".__defaults__") for name, _, _ in odd}
    assert {one for one in found if not one.endswith(WRAPPED_BY_A_BASE)} <= SWAPPED_BY_ITSELF, odd
    assert live["function"] > 8000
    assert min(live[kind] for kind in ("class_constant", "module_constant", "property", "module", "triton")) > 100
