"""The prefix cache: which blocks of 128 tokens were computed before."""

import threading

BLOCK = 128


class PrefixCache:
    """Blocks by everything up to their end, and a salt. Unbounded: a fake lives for minutes."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self._known: set[int] = set()
        self._lock = threading.Lock()

    def take(self, ids: list[int], salt: str = "", read: bool = True) -> tuple[int, int]:
        """(Tokens that were there, tokens that were computed into blocks); ``read`` False as with prompt_logprobs."""
        if not self.enabled:
            return 0, 0
        hashes = [hash((salt, *ids[:end])) for end in range(BLOCK, len(ids) + 1, BLOCK)]
        with self._lock:
            hits = 0
            # The last token is always computed, so that there is something to sample from.
            while read and hits < min(len(hashes), (len(ids) - 1) // BLOCK) and hashes[hits] in self._known:
                hits += 1
            self._known.update(hashes)
        return hits * BLOCK, (len(hashes) - hits) * BLOCK
