"""TurboQuant in a real vLLM, with P67 and without: milliseconds a token, tokens, log-probabilities, attestation.

    python -m benchmarks.turboquant --site SITE --out DIR
    python -m benchmarks.turboquant --site SITE --out DIR --ways plain plain_store plain_p67 plain_p67_store
    python -m benchmarks.turboquant --site SITE --out DIR --cache turboquant_k3v4_nc

SITE is a folder with vLLM and what it needs (``pip install --target SITE vllm==0.24.0``); DIR gets the figures and the
engines' logs. Needs a CUDA card with 40 GB free, and torch. Four engines boot beside each other (with and without P67,
with and without ngram speculation), or those that are named, and are timed one after the other. Those with patches (P67,
and PN530 where it says "store") run from a build, made by the code that the daemon makes builds with; the others run
from the very files that it links. PN530 is for the cache k8v4 alone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.turboquant_build import CACHES, FLAGS, made
from benchmarks.turboquant_reading import attested, compared, remarkable

DRAFTS = 5
BACKEND = "vllm/v1/attention/backends/turboquant_attn.py"
ENGINE = Path(__file__).with_name("turboquant_engine.py").resolve()


@dataclass(frozen=True)
class Way:
    """How an engine is started."""

    drafts: int
    patches: tuple[str, ...] = ()
    graphs: str = "FULL_AND_PIECEWISE"


WAYS = {
    "plain": Way(0),
    "plain_p67": Way(0, ("P67",)),
    # 0.24.0 as it is dies at the first request where it verifies in full graphs: an illegal memory access.
    "ngram": Way(DRAFTS, (), "PIECEWISE"),
    "ngram_p67": Way(DRAFTS, ("P67",)),
    "plain_store": Way(0, ("PN530",)),
    "plain_p67_store": Way(0, ("P67", "PN530")),
    "ngram_store": Way(DRAFTS, ("PN530",), "PIECEWISE"),
    "ngram_p67_store": Way(DRAFTS, ("P67", "PN530")),
}
USUAL = ("plain", "plain_p67", "ngram", "ngram_p67")
ASKED = [{"context": context, "kind": "random"} for context in (8192, 65536, 131072)]
ASKED += [{"context": context, "kind": "counting"} for context in (8192, 131072)]
ASKED.append({"context": 32768, "kind": "random", "requests": 4})
ASKED.append({"context": 16384, "kind": "fresh", "requests": 4})


class Notes(dict):
    """What was found, on disk at once: a later failure must not cost it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def say(self, **found) -> None:
        self.update(found)
        self.path.write_text(json.dumps(self, indent=1))
        print(time.strftime("%H:%M:%S"), json.dumps(found)[:420], flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("/tmp/turboquant"), help="on the same file system as SITE")
    parser.add_argument("--boot-seconds", type=float, default=330)
    parser.add_argument("--every-layer", action="store_true", help="none left to flash attention")
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=USUAL, metavar="WAY", help=f"of {', '.join(WAYS)}")
    parser.add_argument("--contexts", nargs="+", type=int, metavar="TOKENS", help="only what is asked of these")
    parser.add_argument("--cache", choices=CACHES, default=next(iter(CACHES)))
    args = parser.parse_args()
    beyond = [name for name in args.ways if not set(WAYS[name].patches) <= set(CACHES[args.cache])]
    if beyond:
        parser.error(f"{', '.join(beyond)}: with {args.cache} only {', '.join(CACHES[args.cache])} apply")
    for folder in (args.out, args.work):
        folder.mkdir(parents=True, exist_ok=True)
    notes = Notes(args.out / "results.json")
    notes.say(cache=args.cache)
    wanted = dict.fromkeys(WAYS[name].patches for name in args.ways)
    builds = {
        patches: made(args.site.resolve(), args.work, notes, patches, args.cache) for patches in wanted if patches
    }
    if not args.build_only:
        measure(args, builds, notes)
    return 0


def measure(args, builds, notes: Notes) -> None:
    from benchmarks.turboquant_model import make  # noqa: PLC0415 - a build alone needs no torch

    began, model = time.monotonic(), make(args.work / "model")
    notes.say(model_seconds=round(time.monotonic() - began, 1))
    pristine = (args.site / BACKEND).read_bytes()
    ways = {name: WAYS[name] for name in args.ways}
    asking = [asked for asked in ASKED if not args.contexts or asked["context"] in args.contexts]
    engines = {name: started(name, way, args, builds.get(way.patches), model) for name, way in ways.items()}
    try:
        for name, engine in engines.items():
            notes.say(**{f"{name}_boot": engine.wait("ready", args.boot_seconds)})
        for asked in asking:
            for name, engine in engines.items():
                notes.say(**{f"{name}_{words(asked)}": engine.ask(asked)})
        notes.say(compared=compared(notes, list(ways), list(map(words, asking))))
        for name in ways.keys() & {f"{other}_store" for other in ways}:  # these ought to agree to the bit
            pair = [name.removesuffix("_store"), name]
            notes.say(**{f"{name}_beside_the_engines_own": compared(notes, pair, list(map(words, asking)))})
        for name, engine in engines.items():
            notes.say(**{f"{name}_log": remarkable(engine.log)})
            if ways[name].patches:
                build = builds[ways[name].patches]
                notes.say(**{f"{name}_attested": attested(engine.process.pid, engine.reports, build)})
        notes.say(upstreams_file_is_as_it_was=pristine == (args.site / BACKEND).read_bytes())
    finally:
        for name, engine in engines.items():
            engine.end()
            text = engine.log.read_text(errors="replace")
            (args.out / f"{name}.log").write_text(f"{text[:80_000]}\n...\n{text[80_000:][-80_000:]}")


def words(asked: dict) -> str:
    return "_".join(map(str, asked.values()))


def started(name: str, way: Way, args, build, model: Path) -> Engine:
    """An engine with this cache, its patches' flags on and the others' off."""
    asked = {"model": str(model), "cache": args.cache, "drafts": way.drafts, "graphs": way.graphs}
    flags = {flag: "1" if patch in way.patches else "0" for patch, flag in FLAGS.items()}
    return Engine(name, args, build, [str(ENGINE), json.dumps(asked | {"every_layer": args.every_layer})], flags)


class Engine:
    """One engine in a process group of its own."""

    def __init__(self, name: str, args, build, argv: list[str], flags: dict[str, str]) -> None:
        """Start it: from ``build`` if there is one, else from the very files that builds link."""
        self.log, self.reports = args.work / f"{name}.log", args.work / f"{name}-reports"
        self.reports.mkdir(exist_ok=True)
        path = [] if build is None else [str(build.path)]
        environ = os.environ | flags | {
            "PYTHONPATH": os.pathsep.join([*path, str(args.site.resolve())]),
            "VLLM_CACHE_ROOT": str(args.work / f"{name}-cache"),
            "TRITON_CACHE_DIR": str(args.work / f"{name}-triton"),
            "TORCHINDUCTOR_CACHE_DIR": str(args.work / f"{name}-inductor"),
            "HF_HUB_OFFLINE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "VLLM_USE_FLASHINFER_SAMPLER": "0",  # it is not needed, and not always there
            "GENESIS_ATTEST_DIR": str(self.reports),
        }  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log.open("w"),
            env=environ, start_new_session=True, cwd=args.work,
        )  # fmt: skip
        os.set_blocking(self.process.stdout.fileno(), False)
        self._said = b""

    def ask(self, what: dict) -> dict:
        if self.process.poll() is not None:
            return {"error": f"it ended with {self.process.returncode}"}
        self.process.stdin.write(json.dumps(what).encode() + b"\n")
        self.process.stdin.flush()
        return self.wait("measured", 120)

    def wait(self, word: str, seconds: float) -> dict:
        """What the engine says after ``word``, or why it says nothing."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            with contextlib.suppress(BlockingIOError):
                self._said += os.read(self.process.stdout.fileno(), 1 << 20)
            while b"\n" in self._said:
                line, _, self._said = self._said.partition(b"\n")
                if line.startswith(f"{word} ".encode()):
                    return json.loads(line.partition(b" ")[2])
            if self.process.poll() is not None:
                return {"error": f"it ended with {self.process.returncode}", "log": self.log.read_text()[-1500:]}
            time.sleep(0.05)
        return {"error": f"nothing in {seconds:.0f} s", "log": self.log.read_text()[-1500:]}

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


if __name__ == "__main__":
    sys.exit(main())
