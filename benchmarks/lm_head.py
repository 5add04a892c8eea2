"""The output layer in a real vLLM, with PN77 and without: milliseconds a token, memory, how far logits are apart.

    python -m benchmarks.lm_head --site SITE --out DIR

SITE is a folder with vLLM and what it needs (``pip install --target SITE vllm==0.24.0``); DIR gets the figures and the
engines' logs. Needs a CUDA card with 40 GB free, and torch. Both engines boot beside each other and are timed in turns.
The one with PN77 runs from a build, made by the code that the daemon makes builds with; the other one runs from the very
files that it links. The model is that of ``benchmarks.turboquant`` with a vocabulary of 151,936.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

from benchmarks.turboquant import Engine, Notes
from benchmarks.turboquant_build import around
from benchmarks.turboquant_reading import attested
from genesisd.patches.build_key import build_key
from genesisd.patches.catalog import catalog
from genesisd.pins.builds import make_build
from genesisd.wiring.assemble import recipe

FLAG = "GENESIS_ENABLE_PN77_FP8_LM_HEAD"
VOCABULARY = 151_936
ENGINE = Path(__file__).with_name("lm_head_engine.py").resolve()
WAYS = {"plain": "0", "pn77": "1"}
BATCHES, ROUNDS, PREFIXES = (1, 8), 3, 64
WORDS = ("PN77", "Model loading took", "Graph capturing", "KV cache size")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("/tmp/lm_head"), help="on the same file system as SITE")
    parser.add_argument("--boot-seconds", type=float, default=300)
    parser.add_argument("--build-only", action="store_true")
    args = parser.parse_args()
    for folder in (args.out, args.work):
        folder.mkdir(parents=True, exist_ok=True)
    notes = Notes(args.out / "results.json")
    build = made(args.site.resolve(), args.work, notes)
    if not args.build_only:
        measure(args, build, notes)
    return 0


def made(site: Path, work: Path, notes: Notes):
    """A build with PN77 alone."""
    environment, began = around(site, work), time.monotonic()
    chosen = [patch for patch in catalog() if patch.id == "PN77"]
    build = make_build(work, environment, recipe(build_key(environment.name, chosen, "benchmark"), chosen, environment))
    notes.say(
        build=build.name,
        build_seconds=round(time.monotonic() - began, 1),
        planned=build.manifest.notes["patches"],
        attestable=len(build.attest["items"]),
    )
    return build


def measure(args, build, notes: Notes) -> None:
    from benchmarks import turboquant_model as model  # noqa: PLC0415 - a build alone needs no torch

    model.VOCABULARY = model.CONFIG["vocab_size"] = VOCABULARY
    began, folder = time.monotonic(), model.make(args.work / "model")
    notes.say(model_seconds=round(time.monotonic() - began, 1))
    engines = {
        name: Engine(name, args, build if flag == "1" else None, [str(ENGINE), str(folder)], {FLAG: flag})
        for name, flag in WAYS.items()
    }
    try:
        for name, engine in engines.items():
            notes.say(**{f"{name}_boot": engine.wait("ready", args.boot_seconds)})
        told = {name: engine.ask({"prefixes": PREFIXES}) for name, engine in engines.items()}
        notes.say(logits=apart(*told.values()))
        for batch in BATCHES:
            found = {name: [] for name in engines}
            for _ in range(ROUNDS):
                for name, engine in engines.items():
                    found[name].append(engine.ask({"batch": batch}))
            notes.say(**{f"batch_{batch}": {name: together(figures) for name, figures in found.items()}})
        notes.say(attested=attested(engines["pn77"].process.pid, engines["pn77"].reports, build))
    finally:
        for name, engine in engines.items():
            engine.end()
            text = engine.log.read_text(errors="replace")
            notes.say(**{f"{name}_log": remarkable(text)})
            (args.out / f"{name}.log").write_text(f"{text[:80_000]}\n...\n{text[80_000:][-80_000:]}")


def together(figures: list[dict]) -> dict:
    """The rounds of one engine in one: the best, the median and all of them."""
    wrong = [one for one in figures if "ms_a_token" not in one]
    if wrong:
        return wrong[0]
    times = [time for one in figures for time in one["ms_a_token"]]
    return {"best": min(times), "median": round(statistics.median(times), 4), "all": times}


def apart(theirs: dict, ours: dict) -> dict:
    """How far logits after the same text are apart, less what a softmax takes no notice of.

    Of each prefix's likeliest tokens, those that both engines told. ``relative`` is the norm of the differences over that
    of the logits themselves, both about their mean.
    """
    if "told" not in theirs or "told" not in ours:
        return {"error": [theirs, ours]}
    differences, sizes, same = [], [], 0
    for one, other in zip(theirs["told"], ours["told"], strict=True):
        both = sorted(one.keys() & other.keys())
        same += max(one, key=one.get) == max(other, key=other.get)
        if len(both) > 1:
            left, right = centred([one[token] for token in both]), centred([other[token] for token in both])
            differences += [a - b for a, b in zip(left, right, strict=True)]
            sizes += left
    return {
        "prefixes": len(theirs["told"]),
        "same_first_token": same,
        "compared": len(differences),
        "largest": round(max(map(abs, differences)), 4),
        "rms": round(statistics.fmean(one * one for one in differences) ** 0.5, 4),
        "relative": round((sum(one * one for one in differences) / sum(one * one for one in sizes)) ** 0.5, 4),
    }


def centred(numbers: list[float]) -> list[float]:
    mean = statistics.fmean(numbers)
    return [one - mean for one in numbers]


def remarkable(text: str) -> list[str]:
    """Lines about the patch, memory and graphs, each once."""
    lines = text.replace("\r", "\n").splitlines()
    return list(
        dict.fromkeys(line[-240:] for line in lines if any(word in line for word in WORDS) and "%|" not in line)
    )


if __name__ == "__main__":
    sys.exit(main())
