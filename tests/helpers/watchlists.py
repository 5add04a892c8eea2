"""Watchlists for tests: one file with every form, the real one where it is there, and mutations of both."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FORMS = ROOT / "tests" / "data" / "watchlist.yaml"
SEED = ROOT.parent / "shared" / "seeds" / "upstream_watchlist.yaml"
WHY_NO_SEED = "the watchlist that came with the project is not in a clone"

ROW = b"""\
- upstream: vllm#1
  status: open
  action: watch
  since: 2026-06-01
"""
END = b"__sentinel__: complete\n"
SWEEP_ROW = b"""\
- pr: 1
  genesis_patch: P1
  trigger: review-on-merge
  note: A note.
"""


def watch(*rows: bytes) -> bytes:
    """A file with these rows in ``watch``."""
    return b"".join((b"watch:\n", *rows, END))


def sweep(*rows: bytes) -> bytes:
    """A file with these rows in ``sweep``."""
    return b"".join((b"sweep:\n", *rows, END))


def small() -> dict[str, bytes]:
    """Small files that differ in what edits by the byte depend on."""
    forms = FORMS.read_bytes()
    return {
        "forms": forms,
        "crlf": forms.replace(b"\n", b"\r\n"),
        "bom": b"\xef\xbb\xbf" + forms,
        "no-newline": forms.rstrip(b"\n"),
        "old-mac": watch(ROW, ROW.replace(b"#1", b"#2")).replace(b"\n", b"\r"),
        "deep": b"---\nwatch:\n" + b"".join(b"    " + line + b"\n" for line in ROW.splitlines()) + END,
        "braces": b"{watch: [{upstream: vllm#1, status: open, action: watch, since: 2026-06-01}],\n"
        b" sweep: [], __sentinel__: complete}  # all in one\n",
        "empty": b"# nothing yet\nwatch: []\nsweep: []\n" + END,
        "sweep-only": sweep(SWEEP_ROW, SWEEP_ROW.replace(b"1", b"2", 1)),
        "keep": watch(ROW + b"  notes: |+\n    kept\n\n\n", ROW.replace(b"#1", b"#2")),
        "explicit": b"watch:\n- ? upstream\n  : vllm#1\n  ? status\n  : open # why\n  action: watch\n  since: 2026-06-01\n"
        + END,
    }


PIECES = (
    *(
        b"\n",
        b"\r\n",
        b" ",
        b"  ",
        b"\t",
        b"#",
        b" # c",
        b": ",
        b"- ",
        b"'",
        b'"',
        b"|",
        b">",
        b"&a ",
        b"*a",
        b"!!str ",
    ),
    *(
        b"[",
        b"]",
        b"{",
        b"}",
        b",",
        b"---\n",
        b"...\n",
        b"\x00",
        b"\xff",
        b"\xc2\x85",
        b"\xe2\x80\xa8",
        b"\xef\xbb\xbf",
    ),
    *(b"open", b"merged", b"status: open\n", b"null", b"~", b"?", b"@", b"%YAML 1.1\n", b"<<: {}\n", b"[genesisd: x]"),
    *("→".encode(), "🙂".encode(), b"\\", b"\\n", b"vllm#7", b"P1, P2", b"watch-only", b"planned: P1", b"2026-06-09"),
)


def mutate(text: bytes, rng: random.Random) -> bytes:
    """``text`` with one to four slips such as people, editors and disks make."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        text = rng.choice(_SLIPS)(text, rng)
    return text


def mutations(texts: dict[str, bytes], count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """``count`` mutated files with names that tell them apart."""
    names = sorted(texts)
    for number in range(count):
        rng = random.Random(f"{seed}-{number}")
        name = names[number % len(names)]
        yield f"{name}-{seed}-{number}", mutate(texts[name], rng)


def _flip(text: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(text) + 1)
    return text[:at] + bytes([rng.randrange(256)]) + text[at + 1 :]


def _insert(text: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(PIECES) + text[at:]


def _delete(text: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[at + rng.choice((1, 1, 2, 5, 40)) :]


def _cut(text: bytes, rng: random.Random) -> bytes:
    return text[: rng.randrange(len(text) + 1)]


def _comment(text: bytes, rng: random.Random) -> bytes:
    """A comment at the end of a line, or on one of its own: what people do most."""
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    at = rng.randrange(len(lines))
    words = rng.choice(
        (b"# a word", b'# it\'s: "odd"', b"#", b"  # - upstream: vllm#9", b"# [genesisd: old]", b"# \xe2\x80\x94")
    )
    bare = lines[at].rstrip(b"\r\n")
    ending = lines[at][len(bare) :]
    lines[at] = bare + b"  " + words + ending if rng.random() < 0.7 else words + ending + lines[at]
    return b"".join(lines)


def _lines(text: bytes, rng: random.Random) -> bytes:
    """Lines moved, doubled, lost, indented."""
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    at, to = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(5):
        case 0:
            lines.insert(to, lines[at])
        case 1:
            lines.insert(to, lines.pop(at))
        case 2:
            del lines[at]
        case 3:
            lines[at] = rng.choice((b" ", b"  ", b"\t")) + lines[at]
        case _:
            lines.insert(at, rng.choice((b"\n", b"   \n", b"\r\n")))
    return b"".join(lines)


def _quote(text: bytes, rng: random.Random) -> bytes:
    """A value in other quotes, or in none."""
    sign = rng.choice((b"'", b'"', b""))
    words = [word for word in (b"open", b"merged", b"closed", b"watch", b"2026-06-01", b"vllm#101") if word in text]
    if not words:
        return text
    word = rng.choice(words)
    return text.replace(b" " + word, b" " + sign + word + sign, rng.choice((1, -1)))


_SLIPS = (_flip, _insert, _insert, _delete, _cut, _comment, _comment, _comment, _lines, _lines, _quote, _quote)
