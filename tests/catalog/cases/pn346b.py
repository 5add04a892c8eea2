"""Attention and Mamba groups that hold the first five blocks of a prompt, and a drafter: how long is the hit.

`lacks` tells the groups that have fewer blocks than the hit takes for granted.
"""

ID = "PN346B"
STUBS = (
    "no request runs: the blocks are put into the pool by the pool's own means; coordinator, managers and pool are real"
)
VERDICTS = {
    "0.23.0": "applied",
    "0.24.0": "applied",
    "0.30.0": "superseded",
    "0.32.0": "superseded",
    "0.33.0": "superseded",
}
GREEN = {
    "none marked": {"hit": 48, "blocks": [3, 3], "lacks": []},
    "attention marked": {"hit": 48, "blocks": [3, 3], "lacks": []},
    "no drafter": {"hit": 64, "blocks": [4, 4], "lacks": []},
    "none marked, three cached": {"hit": 32, "blocks": [2, 2], "lacks": []},
}
RED = {
    **GREEN,
    "none marked": {"hit": 64, "blocks": [3, 4], "lacks": ["attention"]},
    "none marked, three cached": {"hit": 48, "blocks": [2, 3], "lacks": ["attention"]},
}
FURTHER = {
    **GREEN,
    "none marked": {"hit": 64, "blocks": [4, 4], "lacks": []},
    "attention marked": {"hit": 64, "blocks": [4, 4], "lacks": []},
}
"""Later releases may also look at the prompt's last block, which the drafter's lookup drops again."""
UPSTREAM = {"0.30.0": GREEN, "0.32.0": FURTHER, "0.33.0": FURTHER}


def observe(version):
    return {
        "none marked": _hit(drafter=True),
        "attention marked": _hit(drafter=True, marked=True),
        "no drafter": _hit(),
        "none marked, three cached": _hit(drafter=True, cached=3),
    }


def _hit(*, drafter=False, marked=False, cached=5):
    """The hit of a prompt of 80 tokens, of which the last must be computed."""
    import small_engine

    coordinator, hashes = small_engine.hybrid(drafter=drafter, marked=marked, cached=cached)
    blocks, hit, *_ = coordinator.find_longest_cache_hit(hashes, 79)
    held = [len(one) for one in blocks]
    lacking = [name for name, count in zip(("attention", "mamba"), held, strict=True) if count * 16 < hit]
    return {"hit": hit, "blocks": held, "lacks": lacking}
