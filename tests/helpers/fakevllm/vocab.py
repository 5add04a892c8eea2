# Pathlib would cost each fake start-up time and memory.
# ruff: noqa: PTH118, PTH120, PTH123
"""The demo model's tokenizer, exact and in the standard library alone: byte-level BPE over its tokenizer.json.

The fake runs isolated from site-packages, so the ``tokenizers`` library is none of its means. Read at first use.
"""

import json
import os
import re
from functools import cache
from itertools import pairwise

FOLDER = os.path.join(os.path.dirname(__file__), *[os.pardir] * 3, "genesisd", "demo", "tiny")
_PIECES = re.compile(r" ?[A-Za-z]+|[0-9]|\s|[^\sA-Za-z0-9]")
EOS = 930


class Vocab:
    """Text to ids and back. ``size`` is the width of the model's output, which has rows that no token uses."""

    size = 1024

    def __init__(self) -> None:
        with open(os.path.join(FOLDER, "tokenizer.json"), encoding="utf-8") as file:
            read = json.load(file)
        self.ids: dict[str, int] = read["model"]["vocab"]
        self.ranks = {tuple(pair): rank for rank, pair in enumerate(read["model"]["merges"])}
        self.added = {one["content"]: one["id"] for one in read["added_tokens"]}
        self.special = {one["id"] for one in read["added_tokens"] if one["special"]}
        self.texts = {number: text for text, number in (self.ids | self.added).items()}
        self._split = re.compile("(" + "|".join(map(re.escape, self.added)) + ")")
        self._out = _byte_letters()
        self._in = {letter: byte for byte, letter in self._out.items()}
        self._known: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        """Ids of a text; marks such as ``<think>`` are one token each."""
        found: list[int] = []
        for part in self._split.split(text):
            if part in self.added:
                found.append(self.added[part])
            else:
                for piece in _PIECES.findall(part):
                    found += self._known.get(piece) or self._merge(piece)
        return found

    def decode(self, ids: list[int], skip_special: bool = True) -> str:
        """Text of ids; ids outside the vocabulary say nothing, as with the real one."""
        out, raw = "", b""
        for number in ids:
            if number in self.texts and number not in self.added.values():
                raw += bytes(self._in[letter] for letter in self.texts[number])
                continue
            out, raw = out + raw.decode(errors="replace"), b""
            if not (skip_special and number in self.special):
                out += self.texts.get(number, "")
        return out + raw.decode(errors="replace")

    def pieces(self, ids: list[int]) -> list[str]:
        """What each token adds to the text; one that is half a letter adds nothing, its last adds the letter."""
        found, said = [], ""
        for end in range(1, len(ids) + 1):
            tail = self.decode(ids[max(0, end - 6) : end], skip_special=False)
            head = self.decode(ids[max(0, end - 6) : end - 1], skip_special=False).rstrip("\ufffd")
            piece = "" if tail.endswith("\ufffd") else tail[len(head) :]
            found.append(piece)
            said += piece
        return found

    def _merge(self, piece: str) -> list[int]:
        parts = [self._out[byte] for byte in piece.encode()]
        while len(parts) > 1:
            ranked = [(self.ranks.get(pair, 1 << 30), at) for at, pair in enumerate(pairwise(parts))]
            rank, at = min(ranked)
            if rank == 1 << 30:
                break
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        self._known[piece] = [self.ids[part] for part in parts]
        return self._known[piece]


def _byte_letters() -> dict[int, str]:
    """The letters that stand for bytes in byte-level vocabularies: printable ones for themselves."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + at) for at, byte in enumerate(others)}


@cache
def vocab() -> Vocab:
    """The one vocabulary of this process."""
    return Vocab()
