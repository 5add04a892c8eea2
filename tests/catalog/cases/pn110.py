"""A pool of eight blocks, one of them null, and a block that its owners give back."""

ID = "PN110"
STUBS = "no request runs: the second owner is a count; pool and free list are real"
VERDICTS = {
    "0.23.0": "applied",
    "0.24.0": "superseded",
    "0.30.0": "superseded",
    "0.32.0": "superseded",
    "0.33.0": "superseded",
}
GREEN = {
    "both owners at once": {"free": 7, "listed": 7},
    "one of two owners": {"free": 6, "listed": 6},
    "the only owner": {"free": 7, "listed": 7},
}
RED = {**GREEN, "both owners at once": {"free": 8, "listed": 7}}


def observe(version):
    return {
        "both owners at once": _freed(owners=2, mentions=2),
        "one of two owners": _freed(owners=2, mentions=1),
        "the only owner": _freed(owners=1, mentions=1),
    }


def _freed(*, owners, mentions):
    from vllm.v1.core.block_pool import BlockPool

    pool = BlockPool(num_gpu_blocks=8, enable_caching=True, hash_block_size=16)
    [block] = pool.get_new_blocks(1)
    block.ref_cnt = owners
    pool.free_blocks([block] * mentions)
    queue = pool.free_block_queue
    one, listed = queue.fake_free_list_head.next_free_block, []
    while one is not queue.fake_free_list_tail and len(listed) < 20:
        listed.append(one.block_id)
        one = one.next_free_block
    return {"free": pool.get_num_free_blocks(), "listed": len(listed)}
