"""The entry: ``genesisctl watch NAME ...`` comes here for what needs no daemon."""

from __future__ import annotations

import sys

from genesisd.cli import running
from genesisd.watchtool.app import root
from genesisd.watchtool.tool import Tool

if __name__ == "__main__":
    sys.exit(running.run(root, sys.argv[1:], Tool(), "genesisctl watch"))
