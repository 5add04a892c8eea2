"""A small patched build of the real pin: one change for each kind of process, and plugins that interfere."""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path

from genesisd.attest import plugin
from genesisd.pins.build_manifest import Build
from genesisd.pins.builds import make_build
from genesisd.pins.environment import Environment
from genesisd.pins.recipe import Recipe

PLUGIN = Path(plugin.__file__)
SCHEDULER = "vllm/v1/core/sched/scheduler.py"
RUNNER = "vllm/v1/worker/gpu_model_runner.py"
ROUTER = "vllm/entrypoints/openai/chat_completion/api_router.py"
NGRAM = "vllm/v1/spec_decode/ngram_proposer.py"
CONFIG = "vllm/config/scheduler.py"
MAMBA = "vllm/model_executor/models/mamba.py"
NEW = "vllm/genesis_new.py"
CALLS = {
    # patch: file, qualified name, its signature up to the colon that ends it
    "T1": (SCHEDULER, "Scheduler.schedule", r"    def schedule\(self[^:]*: [^:]*:\n"),
    "T2": (RUNNER, "GPUModelRunner.execute_model", r"    def execute_model\(.*?\n    \)[^:]*:\n"),
    "T3": (ROUTER, "create_chat_completion", r"async def create_chat_completion\([^\n]*\):\n"),
    "T4": (MAMBA, "MambaForCausalLM.forward", r"    def forward\(\n.*?\n    \)?[^\n]*:\n"),
}
PROOFS = {name: [{"role": "engine", "counter": f"{path[:-3].replace('/', '.')}:_genesis_hits"}] for name, (path, _, _) in CALLS.items()}  # fmt: skip


def make(environment: Environment, cache: Path) -> Build:
    """The build, which is found again as long as neither these changes nor the plugin are others."""
    packages = next(environment.path.glob("lib/python*/site-packages"))
    files = {name: _counted(packages, *CALLS[name], name) for name in CALLS}
    texts = {CALLS[name][0]: text for name, text in files.items()}
    texts[CONFIG] = _replaced(packages, CONFIG, "DEFAULT_MAX_NUM_SEQS: ClassVar[int] = 128", "DEFAULT_MAX_NUM_SEQS: ClassVar[int] = 127")  # fmt: skip
    texts[NGRAM] = _replaced(packages, NGRAM, "def batch_propose_numba(\n", "def batch_propose_numba(\n    # numba\n") + "\n_GENESIS = (1, 'a')\n"  # fmt: skip
    texts[NEW] = "LIMIT = 3\n\n\ndef fresh(x=LIMIT):\n    return x\n"
    scopes = {name: [[path, scope], [path, ""]] for name, (path, scope, _) in CALLS.items()}
    scopes |= {"T5": [[CONFIG, "SchedulerConfig"]], "T6": [[NGRAM, ""]], "T7": [[NEW, ""]]}
    shape = repr((sorted(texts.items()), PLUGIN.read_bytes()))
    key = hashlib.sha256(shape.encode()).hexdigest()[:12]
    return make_build(cache, environment, Recipe(key, texts, PLUGIN, {NEW: "new"}, scopes, PROOFS))


def lay_plugin(folder: Path, name: str, text: str) -> Path:
    """A second plugin of vLLM, as anybody may have one installed; the folder is for PYTHONPATH."""
    (folder / f"{name}.py").write_text(textwrap.dedent(text))
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[vllm.general_plugins]\n{name} = {name}:register\n")
    return folder


def environment_of(build: Build, reports: Path, *before: Path) -> Mapping[str, str]:
    """What a process needs to run the build and report."""
    path = ":".join(map(str, (*before, build.path)))
    return {"PYTHONPATH": path, "GENESIS_ATTEST_DIR": str(reports), "VLLM_PROCESS_NAME_PREFIX": "genesis:tiny:1"}


def _counted(packages: Path, path: str, scope: str, signature: str, patch: str) -> str:
    """The file with a counter at the start of one function, and the table for it."""
    text = (packages / path).read_text()
    (found,) = re.findall(signature, text, re.DOTALL) if patch != "T4" else re.findall(signature, text, re.DOTALL)[-1:]
    indent = "        " if "." in scope else "    "
    at = text.rindex(found) + len(found)
    text = f'{text[:at]}{indent}_genesis_hits["{patch}"] += 1\n{text[at:]}'
    return f'{text}\n_genesis_hits = {{"{patch}": 0}}\n'


def _replaced(packages: Path, path: str, before: str, after: str) -> str:
    text = (packages / path).read_text()
    assert text.count(before) == 1, path
    return text.replace(before, after)
