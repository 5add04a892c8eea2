"""Code that builds carry into the engine, where it runs: `genesisd.x` is `vllm.genesis.x` there. Never loaded here."""
