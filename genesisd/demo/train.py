"""Train the demo model, or check one.

    python -m genesisd.demo.train --out DIR --seed 0     about two minutes on two idle cores
    python -m genesisd.demo.train --check DIR            every golden answer, in bf16

Run it with the Python of a pin environment, which has torch and transformers. The seed makes a run repeat on the same
machine; another CPU or torch rounds otherwise and gives other weights, with the same right answers.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.nn import functional
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from genesisd.demo import golden, seal, tokenizer
from genesisd.demo.lessons import Lesson, lessons
from genesisd.demo.locate import FOLDER, TEMPLATES

STEPS = 1500
TOKENS_A_STEP = 2400
PEAK_RATE = 4e-3
MARGIN = 1.0


@dataclass(frozen=True)
class Grade:
    """How a model did on one lesson: wrong tokens, and the smallest lead of the best token over the second."""

    id: str
    wrong: int
    margin: float


def new_model(words: PreTrainedTokenizerFast) -> Qwen3ForCausalLM:
    """An untrained Qwen3 of 0.43 M parameters."""
    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=tokenizer.VOCABULARY,
            hidden_size=128,
            intermediate_size=256,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=32,
            max_position_embeddings=2048,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=words.eos_token_id,
            pad_token_id=words.pad_token_id,
            attn_implementation="sdpa",
        )
    )


def batches(pool: list[Lesson], rng: random.Random) -> list[list[Lesson]]:
    """The lessons in shuffled batches of alike length and bounded size, so that little is padding."""
    order = sorted(pool, key=lambda one: (len(one.tokens) // 8, rng.random()))
    found: list[list[Lesson]] = [[]]
    for one in order:
        if (len(found[-1]) + 1) * len(one.tokens) > TOKENS_A_STEP and found[-1]:
            found.append([])
        found[-1].append(one)
    rng.shuffle(found)
    return found


def logits(model: Qwen3ForCausalLM, batch: list[Lesson]) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits at the graded positions and the tokens that belong there. Padding is on the right: causality hides it."""
    width = max(len(one.tokens) for one in batch)
    ids = torch.tensor([one.tokens + (0,) * (width - len(one.tokens)) for one in batch])
    places = torch.tensor([row * width + spot - 1 for row, one in enumerate(batch) for spot in one.graded])
    states = model.model(input_ids=ids, use_cache=False).last_hidden_state.flatten(0, 1)[places]
    return model.lm_head(states), ids.flatten()[places + 1]


def rate(step: int, steps: int) -> float:
    """Share of the peak learning rate: a short climb, then a straight descent."""
    return min((step + 1) / 50, (steps - step) / steps)


def teach(model: Qwen3ForCausalLM, pool: list[Lesson], steps: int, seed: int) -> None:
    """Train in place."""
    rng = random.Random(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK_RATE, betas=(0.9, 0.98), weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate(step, steps))
    queue: list[list[Lesson]] = []
    begun = time.monotonic()
    for step in range(steps):
        queue = queue or batches(pool, rng)
        guesses, answers = logits(model, queue.pop())
        loss = functional.cross_entropy(guesses, answers)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 99:
            print(f"step {step + 1} of {steps}: loss {loss.item():.4f}, {time.monotonic() - begun:.0f} s", flush=True)


@torch.no_grad()
def grade(model: Qwen3ForCausalLM, pool: list[Lesson]) -> list[Grade]:
    """Each lesson, teacher-forced: right token by token means right when generated greedily."""
    grades = []
    for one in pool:
        guesses, answers = logits(model, [one])
        best = guesses.float().topk(2, dim=-1)
        wrong = int((best.indices[:, 0] != answers).sum())
        grades.append(Grade(one.id, wrong, float((best.values[:, 0] - best.values[:, 1]).min())))
    return grades


def check(folder: Path) -> bool:
    """Grade the model in ``folder`` as served, in bf16, and say what fails."""
    words = PreTrainedTokenizerFast.from_pretrained(folder)
    model = Qwen3ForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).eval()
    pool = lessons(words, folder)
    grades = grade(model, pool)
    bad = [one for one in grades if one.wrong or one.margin < MARGIN]
    for one in bad:
        print(f"FAIL {one.id}: {one.wrong} wrong tokens, margin {one.margin:.2f}")
    least = min(one.margin for one in grades)
    sizes = f"{len(golden.cases())} cases, {sum(len(one.tokens) for one in pool)} tokens"
    print(f"{len(grades) - len(bad)} of {len(grades)} lessons right ({sizes}); least margin {least:.2f} in bf16")
    return not bad


def lay_out(folder: Path) -> PreTrainedTokenizerFast:
    """Put what is not trained by gradient into ``folder``: templates, golden set, tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in TEMPLATES.values():
        if folder.resolve() != FOLDER.resolve():
            shutil.copyfile(FOLDER / name, folder / name)
    seal.write_golden(folder)
    tokenizer.save(tokenizer.build(part for entry in golden.cases() for part in texts(entry)), folder)
    return PreTrainedTokenizerFast.from_pretrained(folder)


def texts(entry: dict) -> list[str]:
    """What a case puts before the tokenizer; the last is what the templates add."""
    names = " ".join(tool["function"]["name"] for tool in entry["request"].get("tools", []))
    said = [message["content"] or "" for message in entry["request"]["messages"]]
    return [entry["emits"], *said, f"system user assistant tool Tools in json tags: {names}"]


def save(model: Qwen3ForCausalLM, words: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write the weights in bf16, and greedy decoding as the default of requests that do not say."""
    model.to(torch.bfloat16).save_pretrained(folder)
    generation = {"eos_token_id": words.eos_token_id, "pad_token_id": words.pad_token_id, "do_sample": True, "top_k": 1}
    (folder / "generation_config.json").write_text(json.dumps(generation, indent=2) + "\n", encoding="utf-8")
    # safetensors writes 0600, which a service user could not read.
    (folder / "model.safetensors").chmod(0o644)


def train(folder: Path, seed: int, steps: int) -> bool:
    """Train into ``folder``; False when an answer is wrong afterwards."""
    torch.manual_seed(seed)
    words = lay_out(folder)
    model = new_model(words)
    print(f"{sum(one.numel() for one in model.parameters())} parameters, {len(words)} words")
    teach(model, lessons(words, folder), steps, seed)
    save(model, words, folder)
    seal.write_sums(folder)
    return check(folder)


def main() -> int:
    """Parse the command line; 0 means that every answer is right."""
    parser = argparse.ArgumentParser(prog="python -m genesisd.demo.train", description="Train or check the demo model.")
    parser.add_argument("--out", type=Path, help="folder to train into")
    parser.add_argument("--check", type=Path, metavar="DIR", help="grade the model in DIR and train nothing")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=STEPS)
    args = parser.parse_args()
    if (args.out is None) == (args.check is None):
        parser.error("give one of --out DIR and --check DIR")
    torch.set_num_threads(2)
    right = check(args.check) if args.check else train(args.out, args.seed, args.steps)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
