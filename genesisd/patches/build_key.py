"""The address of a build: what goes in decides it, so that one that exists is found without planning. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from genesisd.patches.model import Patch

FORMAT = 1
"""Raised when the same patches would come out as another build."""
DIGITS = 12


def build_key(environment: str, patches: Sequence[Patch], plugin: str) -> str:
    """Twelve hex digits over the pin's environment, what each patch does, and the plugin that attests it.

    Args:
        environment: the pin's environment: its name, which holds a hash of its own, and when it was built. Its files
            are linked and its Python's bytecode is what attestation expects: both are others once it is built anew.
        patches: the selected ones, in any order: an order that counts is declared, and so part of them.
        plugin: hash of the attestation plugin, a copy of which every build has.
    """
    shaping = {patch.id: _shape(patch) for patch in patches}
    text = json.dumps([FORMAT, environment, plugin, shaping], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def _shape(patch: Patch) -> str:
    """Everything of a patch that can change a file, or whether one is changed. Titles and credits cannot."""
    return repr((patch.edits, patch.markers, patch.requires, patch.conflicts, patch.follows, patch.proofs))
