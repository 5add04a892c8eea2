"""Measure the kernels beside the engine's own on one GPU: `python -m genesisd.kernels.bench --upstream TREE`.

TREE is the unpacked package tree of a vLLM release. The tests run first; on a red one nothing is printed but its name,
to standard error. Without a GPU, `--list` names the cases.
"""

from __future__ import annotations

import argparse
import datetime as dt
import pathlib
import sys
from collections.abc import Callable, Iterator

MARKS = ("<!-- written by genesisd.kernels.bench -->", "<!-- end -->")
SECTION = """## kernels

Attention over a TurboQuant cache beside the engine's own kernel, on one GPU: `python -m genesisd.kernels.bench --upstream
TREE --write docs/benchmarks.md`, where TREE is the unpacked package tree of a vLLM release. What the columns mean, and what
limits the kernels, is in [kernels](kernels.md).
"""
HEADER = (
    "| query heads / KV heads / dim | query tokens | floor us | upstream us | ours us | times faster | of the floor | goal | error, upstream's |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


def main(argv: list[str] | None = None) -> int:
    """Print the table, or name what is wrong and return 1."""
    options = parser().parse_args(argv)
    if options.list:
        names()
        return 0
    from genesisd.kernels.tq_verify import checking

    wrong = checking.failures("cuda")
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 1
    lines = []
    for line in table(options.upstream, options.only):
        print(line, flush=True)
        lines.append(line)
    if options.write is not None:
        replace(options.write, "\n".join(lines))
    return 0


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    found = argparse.ArgumentParser(prog="python -m genesisd.kernels.bench", description=__doc__)
    found.add_argument("--list", action="store_true", help="name the cases and end; needs no GPU")
    found.add_argument("--upstream", type=pathlib.Path, help="a vLLM release's tree, to compare with its kernel")
    found.add_argument("--only", default="", help="cases whose name contains this")
    found.add_argument("--write", type=pathlib.Path, help="replace the table in this file too")
    return found


def names() -> None:
    """The cases' names, those of the tests first."""
    from genesisd.kernels.tq_verify import cases

    for kind, found in (("test", cases.GPU_EDGES), ("bench", cases.BENCHED)):
        for case in found:
            print(f"{kind}: {case.name}, {case.query_lens[0]} query tokens")


def table(upstream: pathlib.Path | None, only: str) -> Iterator[str]:
    """The lines of the table, measured as they are asked for."""
    import torch
    import triton

    from genesisd.kernels.tq_verify import cases, timing

    theirs = None
    if upstream is not None:
        from genesisd.kernels.tq_verify.upstream import Upstream

        theirs = Upstream(upstream)
    rates = timing.rates()
    when = dt.datetime.now(tz=dt.UTC)
    yield f"{when:%Y-%m-%d}, {torch.cuda.get_device_name()}, torch {torch.__version__}, triton {triton.__version__};"
    yield f"copy {rates.copy / 1e9:.0f} GB/s, bfloat16 products {rates.products / 1e12:.0f} TFLOP/s.\n"
    yield HEADER
    for case in cases.BENCHED:
        if only in case.name:
            yield row(case, rates, theirs)


def row(case: object, rates: object, theirs: object | None) -> str:
    """One case, measured."""
    from genesisd.kernels.tq_verify import timing

    found = timing.measure(case, rates, theirs)
    count = case.query_lens[0]
    them = "" if found.upstream_us is None else f"{found.upstream_us:.1f}"
    faster = "" if found.upstream_us is None else f"x{found.upstream_us / found.ours_us:.1f}"
    share = found.floor_us / found.ours_us
    goal = goal_of(case)
    met = "" if goal is None else f"{goal[0]} {'yes' if goal[1](share, found.ours_us) else '**no**'}"
    errors = "" if found.error is None else f"{found.error:.1e}, {found.upstream_error:.1e}"
    return f"| {case.name} | {count} | {found.floor_us:.1f} | {them} | {found.ours_us:.1f} | {faster} | {share:.1%} | {met} | {errors} |"


def goal_of(case: object) -> tuple[str, Callable[[float, float], bool]] | None:
    """What was asked of a case."""
    batch, context, verify = len(case.lens), case.lens[0], case.query_lens[0] > 1
    if batch == 8 and context >= 32768:
        return ("50 %", lambda share, _: share >= 0.5) if verify else ("60 %", lambda share, _: share >= 0.6)
    if batch == 1 and context == 131072 and verify:
        return "25 %", lambda share, _: share >= 0.25
    if batch == 1 and context == 8192:
        return "15 us", lambda _, us: us <= 15
    return None


def replace(path: pathlib.Path, text: str) -> None:
    """Put the table between the marks of a page; a page that has lost them gets a section at its end."""
    page = path.read_text()
    if MARKS[0] not in page:
        page = f"{page.rstrip()}\n\n{SECTION}\n{MARKS[0]}\n{MARKS[1]}\n"
    before, rest = page.split(MARKS[0])
    path.write_text(f"{before}{MARKS[0]}\n{text}\n{MARKS[1]}{rest.split(MARKS[1], 1)[1]}")


if __name__ == "__main__":
    sys.exit(main())
