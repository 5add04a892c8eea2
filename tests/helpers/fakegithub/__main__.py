"""The double as a process of its own: ``python -m tests.helpers.fakegithub [--fixture FILE | --synthetic N]``.

Prints its address on one line and serves until it is ended.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from .facts import from_fixture, synthetic
from .server import TOKEN, fake_github


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixture", type=Path)
    parser.add_argument("--synthetic", type=int, default=113)
    parser.add_argument("--token", default=TOKEN)
    parser.add_argument("--anonymous", type=int, default=60, help="requests an hour without a token")
    asked = parser.parse_args()
    world = from_fixture(asked.fixture) if asked.fixture else synthetic(asked.synthetic)
    async with fake_github(world, token=asked.token, anonymous=asked.anonymous) as double:
        print(double.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
