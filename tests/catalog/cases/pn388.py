"""Pieces that a step has room for, of prompts in blocks of 16, and what the scheduler makes of them."""

ID = "PN388"
STUBS = "the model has no Mamba layer: the scheduler is told to split for one, and that there is a drafter"
VERDICTS = {
    "0.23.0": "applied",
    "0.24.0": "applied",
    "0.30.0": "superseded",
    "0.32.0": "superseded",
    "0.33.0": "superseded",
}
GREEN = {
    "5 of 20": 0,
    "17 of 20": 16,
    "20 of 20": 20,
    "10 of the last 18 of 50": 0,
    "17 of the last 18 of 50": 16,
    "the last 18 of 50": 18,
    "40 of 50": 32,
    "10 of 50": 0,
    "decoding": 4,
    "5 of 20, no drafter": 0,
    "17 of 20, no drafter": 16,
    "the last 4 of 20, no drafter": 4,
}
RED = {**GREEN, "5 of 20": 5, "17 of 20": 17, "10 of the last 18 of 50": 10, "17 of the last 18 of 50": 17}


def observe(version):
    import small_engine

    def piece(prompt, tokens, *, done=0, drafter=True):
        scheduler = small_engine.scheduler(small_engine.config())
        scheduler.use_eagle = scheduler.use_eagle_block_drop = drafter
        request = small_engine.request("r", prompt)
        request.num_computed_tokens = done
        return scheduler._mamba_block_aligned_split(request, tokens)

    return {
        "5 of 20": piece(20, 5),
        "17 of 20": piece(20, 17),
        "20 of 20": piece(20, 20),
        "10 of the last 18 of 50": piece(50, 10, done=32),
        "17 of the last 18 of 50": piece(50, 17, done=32),
        "the last 18 of 50": piece(50, 18, done=32),
        "40 of 50": piece(50, 40),
        "10 of 50": piece(50, 10),
        "decoding": piece(20, 4, done=20),
        "5 of 20, no drafter": piece(20, 5, drafter=False),
        "17 of 20, no drafter": piece(20, 17, drafter=False),
        "the last 4 of 20, no drafter": piece(20, 4, done=16, drafter=False),
    }
