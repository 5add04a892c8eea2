"""Measure the kernels beside what they replace on one GPU: `python -m genesisd.kernels.bench --upstream TREE`.

TREE is the unpacked package tree of a vLLM release. An operation's tests run first; on a red one nothing is printed but
its name, to standard error. Without a GPU, `--list` names the cases.
"""

from __future__ import annotations

import argparse
import datetime as dt
import pathlib
import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

SECTIONS = {
    "tq_verify": "Attention over a TurboQuant cache beside the engine's own kernel",
    "tq_codebook": "Attention over TurboQuant caches of 3- and 4-bit keys beside the engine's own kernel",
    "lm_head_fp8": "The output layer with FP8 weights beside torch's products of bfloat16 and of FP8",
    "tq_store": "The store of new keys and values into a TurboQuant cache beside the engine's own kernel",
}
"""The operations, each with what its section of a page of figures begins with. Its package has `cases` (GPU_EDGES and
BENCHED), `checking` (failures) and `table` (lines)."""
FIRST = "tq_verify"
"""Whose marks name no operation."""


def main(argv: list[str] | None = None) -> int:
    """Print the tables, or name what is wrong and return 1."""
    options = parser().parse_args(argv)
    if options.list:
        names()
        return 0
    chosen = selected(options.only)
    if not chosen:
        print(f"no operation and no case of any has {options.only!r} in its name: --list names them", file=sys.stderr)
        return 1
    for op in chosen:
        wrong = of(op, "checking").failures("cuda", options.upstream)
        if wrong:
            print("\n".join(f"{op}: {line}" for line in wrong), file=sys.stderr)
            return 1
    for op, cases in chosen.items():
        lines = []
        for line in table(op, cases, options.upstream, sweep=options.sweep):
            print(line, flush=True)
            lines.append(line)
        if options.write is not None and not options.sweep:
            replace(options.write, "\n".join(lines), op)
    return 0


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    found = argparse.ArgumentParser(prog="python -m genesisd.kernels.bench", description=__doc__)
    found.add_argument("--list", action="store_true", help="name the cases and end; needs no GPU")
    found.add_argument("--upstream", type=pathlib.Path, help="a vLLM release's tree, to compare with its kernels")
    found.add_argument("--only", default="", help="one operation, or all cases whose name contains this")
    found.add_argument("--sweep", action="store_true", help="time every cut worth it of each case instead")
    found.add_argument("--write", type=pathlib.Path, help="replace the tables in this file too")
    return found


def of(op: str, part: str) -> ModuleType:
    """A module of an operation's package. Those of measuring need torch and triton."""
    return import_module(f"genesisd.kernels.{op}.{part}")


def selected(only: str) -> dict[str, list[Any]]:
    """The cases to measure: an operation's if it is named, else those whose name has the words in it."""
    if only in SECTIONS:
        return {only: list(of(only, "cases").BENCHED)}
    found = {op: [case for case in of(op, "cases").BENCHED if only in case.name] for op in SECTIONS}
    return {op: cases for op, cases in found.items() if cases}


def names() -> None:
    """The cases' names, those of the tests first."""
    for op in SECTIONS:
        cases = of(op, "cases")
        for kind, found in (("test", cases.GPU_EDGES), ("bench", cases.BENCHED)):
            for case in found:
                print(f"{op}, {kind}: {words(case)}")


def words(case: Any) -> str:
    """A case's name, with what else tells it apart."""
    return f"{case.name}, {case.query_lens[0]} query tokens" if hasattr(case, "query_lens") else case.name


def table(op: str, cases: list[Any], upstream: pathlib.Path | None, *, sweep: bool) -> Iterator[str]:
    """The lines of an operation's table, measured as they are asked for."""
    import torch
    import triton

    from genesisd.kernels.replays import rates

    found = rates()
    when = dt.datetime.now(tz=dt.UTC)
    yield f"{when:%Y-%m-%d}, {torch.cuda.get_device_name()}, torch {torch.__version__}, triton {triton.__version__};"
    yield f"copy {found.copy / 1e9:.0f} GB/s, bfloat16 products {found.products / 1e12:.0f} TFLOP/s.\n"
    yield from of(op, "table").lines(found, cases, upstream, sweep=sweep)


def marks(op: str) -> tuple[str, str]:
    """What an operation's table stands between."""
    return f"<!-- written by genesisd.kernels.bench{'' if op == FIRST else f' --only {op}'} -->", "<!-- end -->"


MARKS = marks(FIRST)


def section(op: str) -> str:
    """What stands above an operation's table where a page has none yet."""
    only, name = ("", "") if op == FIRST else (f" --only {op}", f" {op}")
    return (
        f"## kernels{name}\n\n{SECTIONS[op]}, on one GPU: `python -m genesisd.kernels.bench{only} --upstream\n"
        "TREE --write docs/benchmarks.md`, where TREE is the unpacked package tree of a vLLM release. What the columns mean, and what\n"
        "limits the kernels, is in [kernels](kernels.md).\n"
    )


def replace(path: pathlib.Path, text: str, op: str = FIRST) -> None:
    """Put a table between its marks on a page; a page that has lost them gets a section at its end."""
    page = path.read_text()
    start, end = marks(op)
    if start not in page:
        page = f"{page.rstrip()}\n\n{section(op)}\n{start}\n{end}\n"
    before, rest = page.split(start)
    path.write_text(f"{before}{start}\n{text}\n{end}{rest.split(end, 1)[1]}")


if __name__ == "__main__":
    sys.exit(main())
