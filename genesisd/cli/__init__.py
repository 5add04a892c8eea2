"""genesisctl: what operators type. Talks to the daemon; imports neither aiohttp nor pydantic at start."""
