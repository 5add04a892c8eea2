"""The commands of the tool."""

from __future__ import annotations

from genesisd.cli.commands import LateGroup

root = LateGroup(
    "watch",
    help="Pull requests upstream: what needs no daemon.",
    examples="genesisctl watch check upstream_watchlist.yaml",
    late={"check": ("genesisd.watchtool.checking:check", "Contradictions in a watchlist; needs no daemon.")},
)
