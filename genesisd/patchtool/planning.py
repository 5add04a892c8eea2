"""``genesisctl patches plan``: what a worker would run, and what not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import click

from genesisd.cli import exits
from genesisd.cli.commands import Verb
from genesisd.cli.session import usage
from genesisd.cli.text import Cell
from genesisd.patches.policy import PlanDiff, diff
from genesisd.patches.resolve import Gate
from genesisd.patches.spec import Policy
from genesisd.patchtool.checking import COLOURS
from genesisd.patchtool.tool import Tool
from genesisd.patchtool.trees import configuration
from genesisd.patchtool.workers import Asked, Planned, Standing, ask, planned, with_policy

NONE = "none"
POLICIES = click.Choice([NONE, *(str(one) for one in Policy)])


@click.command(
    "plan",
    cls=Verb,
    examples="""
    genesisctl patches plan --worker main
    genesisctl patches plan --worker main --policy safe --config genesisd.yaml --json
    genesisctl patches plan --worker main --diff compat minimal
    """,
)
@click.option("--worker", "-w", required=True, metavar="NAME", help="The worker.")
@click.option("--policy", type=POLICIES, help="Instead of the policy that the worker declares.")
@click.option("--diff", "pair", nargs=2, type=POLICIES, metavar="A B", help="How two policies differ.")
@click.option("--config", metavar="FILE", help="The configuration. [default: the running daemon's]")
@click.option("--all", "everything", is_flag=True, help="Also the patches that nothing switches on.")
@click.pass_obj
def plan(
    tool: Tool, worker: str, policy: str | None, pair: tuple[str, str] | None, config: str | None, *, everything: bool
) -> int:
    """What a worker would run: each patch with the verdict of the first gate that is shut, or of the tree.

    Looks at the configuration as it is now, and needs no daemon. Exits with 10 when the worker would not be
    started.
    """
    if policy and pair:
        raise usage("--policy and --diff contradict each other")
    asked = ask(configuration(tool, config), worker)
    if pair:
        return _compare(tool, asked, pair)
    asked = with_policy(asked, _named(policy)) if policy else asked
    found = planned(asked, tool.patches)
    if tool.json:
        tool.answer_json(plan_facts(asked, found))
    else:
        _show(tool, asked, found, everything=everything)
    return exits.FOUND if found.selection.faults else exits.OK


def _named(policy: str) -> Policy | None:
    return None if policy == NONE else Policy(policy)


def plan_facts(asked: Asked, found: Planned) -> dict[str, Any]:
    """The plan as plain values."""
    policy = found.selection.plan
    return {
        "worker": asked.name,
        "pin": asked.pin.id,
        "version": asked.pin.version,
        "tree": asked.tree is not None,
        "policy": policy.policy and str(policy.policy),
        "included": list(policy.included),
        "excluded": dict(policy.excluded),
        "passthrough": list(policy.passthrough),
        "selected": list(found.selection.patches),
        "verdicts": {name: asdict(one) for name, one in found.standings.items()},
        "warnings": list(found.selection.warnings),
        "faults": list(found.selection.faults),
        "facts": {str(fact): value for fact, value in sorted(asked.known.facts.items())},
    }


def _show(tool: Tool, asked: Asked, found: Planned, *, everything: bool) -> None:
    policy = found.selection.plan
    shown = {
        name: one
        for name, one in found.standings.items()
        if everything or one.verdict != Gate.NOT_ENABLED or name in policy.excluded
    }
    if shown:
        tool.table(("ID", "VERDICT", "WHY"), [_row(name, one, policy.excluded) for name, one in shown.items()])
    else:
        tool.note("nothing switches a patch on: the worker runs the plain pin")
    if policy.passthrough:
        tool.answer(f"passed on: {', '.join(policy.passthrough)}")
    for line in found.selection.warnings:
        tool.answer(f"warning: {line}")
    for line in found.selection.faults:
        tool.answer(f"would not start: {line}")
    tool.note(
        f"{asked.name} on {asked.pin.id}, policy {policy.policy or NONE}: {len(found.selection.patches)} selected"
    )


def _row(name: str, one: Standing, excluded: Mapping[str, str]) -> list[Cell]:
    # What a policy took away nothing switches on any more; the policy is the reason.
    told = excluded.get(name, one.text) if one.verdict == Gate.NOT_ENABLED else one.text
    return [
        Cell(name, "bold"),
        Cell(one.verdict, COLOURS.get(one.verdict, "yellow")),
        Cell("; ".join((told, *one.notes))),
    ]


def _compare(tool: Tool, asked: Asked, pair: tuple[str, str]) -> int:
    first, second = (planned(with_policy(asked, _named(one)), tool.patches) for one in pair)
    found = diff(first.selection.plan, second.selection.plan)
    changed = {
        name: (first.standings[name].verdict, second.standings[name].verdict)
        for name in first.standings
        if first.standings[name].verdict != second.standings[name].verdict
    }
    if tool.json:
        tool.answer_json({"worker": asked.name, "policies": list(pair), "verdicts": changed} | asdict(found))
    else:
        _show_difference(tool, pair, found, changed)
    return exits.OK


def _show_difference(
    tool: Tool, pair: tuple[str, str], found: PlanDiff, changed: Mapping[str, tuple[str, str]]
) -> None:
    rows = [
        [Cell(name, "bold"), Cell(one), Cell(two), Cell(found.why.get(name, ""))]
        for name, (one, two) in changed.items()
    ]
    if rows:
        tool.table(("ID", *(one.upper() for one in pair), "WHY"), rows)
    for key, (one, two) in found.environ.items():
        tool.answer(f"{key}: {_value(one)} under {pair[0]}, {_value(two)} under {pair[1]}")
    if not rows and not found.environ:
        tool.note(f"{pair[0]} and {pair[1]} come to the same")


def _value(text: str | None) -> str:
    return "not set" if text is None else repr(text)
