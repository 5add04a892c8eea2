"""How much of a prompt is found again, whose last token must be computed; five blocks of 16 are in the cache.

The register of defects takes 0.32 for mended: that is so for hybrid models, not for one group of layers.
"""

ID = "PN384"
STUBS = (
    "no request runs: the blocks are put into the pool by the pool's own means; coordinator, managers and pool are real"
)
VERDICTS = dict.fromkeys(("0.23.0", "0.24.0", "0.30.0", "0.32.0", "0.33.0"), "applied")
GREEN = {
    "80 tokens": 64,
    "85 tokens": 64,
    "79 tokens": 48,
    "three blocks cached": 32,
    "no drafter": 64,
    "hybrid, 80 tokens": 64,
    "hybrid, 85 tokens": 64,
    "hybrid, no drafter": 64,
    "drafter's group, nothing dropped": 64,
    "mamba alone, 80 tokens": 64,
    "mamba within 80 tokens": 64,
}
LATER = {**GREEN, "80 tokens": 48, "drafter's group, nothing dropped": 48}
LATEST = {**GREEN, "80 tokens": 48}
EARLIER = {**LATER, "hybrid, 80 tokens": 48}
RED = {
    "0.23.0": EARLIER,
    "0.24.0": EARLIER,
    "0.30.0": {**EARLIER, "mamba within 80 tokens": 48},
    "0.32.0": LATER,
    "0.33.0": LATEST,
}


def observe(version):
    return {
        "80 tokens": _hit(80, drafter=True, mamba=False),
        "85 tokens": _hit(85, drafter=True, mamba=False),
        "79 tokens": _hit(79, drafter=True, mamba=False),
        "three blocks cached": _hit(80, drafter=True, mamba=False, cached=3),
        "no drafter": _hit(80, mamba=False),
        "hybrid, 80 tokens": _hit(80, drafter=True, marked=True),
        "hybrid, 85 tokens": _hit(85, drafter=True, marked=True),
        "hybrid, no drafter": _hit(80),
        # 0.33 can mark a group as the drafter's and drop nothing, so there is nothing to look further for.
        "drafter's group, nothing dropped": _hit(80, marked=True, mamba=False),
        "mamba alone, 80 tokens": _hit(80, drafter=True, attention=False),
        "mamba within 80 tokens": _held_by_mamba(80),
    }


def _hit(tokens, **how):
    """Tokens found, of a prompt of so many that begins like the cached one."""
    import small_engine

    coordinator, hashes = small_engine.hybrid(**how)
    blocks, hit, *_ = coordinator.find_longest_cache_hit(hashes[: tokens // 16], tokens - 1)
    assert all(len(one) * 16 == hit for one in blocks)
    return hit


def _held_by_mamba(tokens):
    """Tokens that the Mamba group of a hybrid model answers with, where no group is marked as the drafter's."""
    import small_engine

    coordinator, hashes = small_engine.hybrid(drafter=True)
    blocks, *_ = coordinator.find_longest_cache_hit(hashes[: tokens // 16], tokens - 1)
    return len(blocks[1]) * 16
