"""Attestation: what each process of the engine really runs, against what the build says that it must."""

from __future__ import annotations

from pathlib import Path

PLUGIN = Path(__file__).with_name("plugin.py")
"""What every build has a copy of; nothing here imports it."""
