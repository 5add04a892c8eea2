"""The entry: ``genesisctl patches NAME ...`` comes here."""

from __future__ import annotations

import sys

from genesisd.cli import running
from genesisd.patchtool.app import root
from genesisd.patchtool.tool import Tool

if __name__ == "__main__":
    sys.exit(running.run(root, sys.argv[1:], Tool(), "genesisctl patches"))
