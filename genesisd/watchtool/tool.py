"""One run of the tool: the options of genesisctl, and what it knows of patches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from genesisd.cli.session import Session
from genesisd.watch.ports import Patches
from genesisd.wiring.patch_facts import PatchFacts


@dataclass
class Tool(Session):
    """The session, and where the facts about patches come from; tests bring their own."""

    patches: Callable[[], Patches] = PatchFacts
