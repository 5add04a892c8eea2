"""Builds the demo model's tokenizer: byte-level, so that any text round-trips, with Qwen3's marks as single tokens.

Every punctuation mark is a token of its own. A grammar that forces the first ``[`` or ``{`` of an answer then leaves the
model one token to choose, the one it was trained to continue from.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

VOCABULARY = 1024
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
# Not "special": a server that skips special tokens must still show them in its text.
MARKS = ("<tool_call>", "</tool_call>", "<think>", "</think>")
PIECES = r" ?[A-Za-z]+|[0-9]|\s|[^\sA-Za-z0-9]"


def build(texts: Iterable[str]) -> Tokenizer:
    """A tokenizer whose merges come from ``texts``."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - len(SPECIAL) - len(MARKS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in SPECIAL])
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in MARKS])
    return tokenizer


def save(tokenizer: Tokenizer, folder: Path) -> None:
    """Write tokenizer.json and its transformers configuration."""
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "model_max_length": 2048,
        "clean_up_tokenization_spaces": False,
        "add_bos_token": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
