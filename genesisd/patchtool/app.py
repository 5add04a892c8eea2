"""The commands of the tool; each is loaded when it is used."""

from __future__ import annotations

from genesisd.cli.commands import LateGroup
from genesisd.cli.patches import TOLD, patches

_WHERE = {
    "list": "listing:list_patches",
    "show": "showing:show",
    "explain": "explaining:explain",
    "plan": "planning:plan",
    "check": "checking:check",
    "build": "building:build",
    "verify": "verifying:verify",
    "gc": "collecting:collect",
    "export": "exporting:export",
    "docs": "documents:docs",
    "new": "beginning:new",
    "proof": "proving:proof",
    "audit": "auditing:audit",
}

root = LateGroup(
    "patches",
    help=patches.help,
    examples=patches.examples,
    late={name: (f"genesisd.patchtool.{_WHERE[name]}", line) for name, line in TOLD.items()},
)
