"""Proposals for a batch of mixed requests, and the comparisons that it takes to place them.

Every number that may be looked for counts how often it is compared; clocks are not asked.
"""

ID = "P86"
STUBS = "numba runs its functions as plain Python; the proposer and its search are real"
VERDICTS = dict.fromkeys(("0.23.0", "0.24.0", "0.30.0", "0.32.0", "0.33.0"), "applied")
GREEN = {
    "drafts": [[7, 8, 9], [], [], [4, 3], []],
    "no request drafts": [[], []],
    "lists apart": True,
    "comparisons for 64 requests": 0,
    "drafted of 64": 32,
}
RED = {**GREEN, "comparisons for 64 requests": 1552}


def observe(version):
    import numpy as np
    import small_engine
    from vllm.v1.spec_decode import ngram_proposer

    ngram_proposer.batch_propose_numba = ngram_proposer.batch_propose_numba.py_func
    find = ngram_proposer._find_longest_matched_ngram_and_propose_tokens
    ngram_proposer._find_longest_matched_ngram_and_propose_tokens = find.py_func
    proposer = ngram_proposer.NgramProposer(small_engine.config(drafts=3, seqs=64))

    def propose(sampled, rows):
        lengths = np.array([len(row) for row in rows], dtype=np.int32)
        tokens = np.zeros((len(rows), 256), dtype=np.int32)
        for n, row in enumerate(rows):
            tokens[n, : len(row)] = row
        first = () if version == "0.23.0" else (3,)
        return proposer.propose(*first, sampled, lengths, tokens)

    rows = [[5, 6, 7, 8, 9, 5, 6], [1, 2, 3], [5, 6, 7, 5, 6], [3, 4, 3, 4, 3], [9] * 256]
    drafts = propose([[6], [3], [], [3], [9]], rows)
    none = propose([[], []], rows[:2])

    class Index(int):
        compared = 0
        __hash__ = int.__hash__

        def __eq__(self, other):
            Index.compared += 1
            return int(self) == int(other)

    proposer.valid_ngram_num_drafts[:] = 2
    ngram_proposer.batch_propose_numba = lambda *_: None
    lengths, tokens = np.zeros(64, dtype=np.int32), np.zeros((64, 256), dtype=np.int32)
    valid = [Index(n) for n in range(1, 64, 2)]
    many = proposer.batch_propose(64, valid, lengths, tokens, *(() if version == "0.23.0" else (3,)))
    return {
        "drafts": drafts,
        "no request drafts": none,
        "lists apart": len({id(one) for one in many}) == 64,
        "comparisons for 64 requests": Index.compared,
        "drafted of 64": sum(map(bool, many)),
    }
