"""The catalog of this clone at its own gate: what a maintainer asks before a release is asked at every change."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.catalog.releases import CACHE, RELEASES


def test_the_catalog_may_be_released(tree):
    """Nothing is missing: cases, anchors on each release, what cannot be attested, pages that are written from it."""
    for version in RELEASES:
        tree(version)
    command = [sys.executable, "-m", "genesisd.cli.main", "--json", "patches", "proof", "--cache", str(CACHE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    missing = json.loads(done.stdout)["missing"]
    assert {check: lines for check, lines in missing.items() if lines} == {}, done.stderr
    assert done.returncode == 0
