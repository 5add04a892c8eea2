"""The entry: ``genesisctl patches NAME ...`` comes here."""

from __future__ import annotations

import gc
import sys

from genesisd.cli import running
from genesisd.patchtool.app import root
from genesisd.patchtool.tool import Tool

if __name__ == "__main__":
    # A short run that makes syntax trees by the million: the collector would walk them again and again, and find nothing.
    gc.disable()
    sys.exit(running.run(root, sys.argv[1:], Tool(), "genesisctl patches"))
