"""``tokenizer``: texts of every sort are cut into the recorded tokens.

Another tokenizer (a file swapped, a library raised, a fast one for a slow one) answers well enough to pass for right, and
is wrong in a few words, in tags, or in every prompt that a client tokenized itself.
"""

from __future__ import annotations

import aiohttp

from genesisd.probes.asking import Asking, NoAnswerError
from genesisd.probes.casebooks import label
from genesisd.probes.model import Outcome, failure, skipped, success
from genesisd.probes.ports import Target
from genesisd.probes.replies import fingerprint, recorded_for
from genesisd.probes.spec import TokenizerProbe


class Tokenizer:
    """Stateless but for what was asked last."""

    def __init__(self, spec: TokenizerProbe, session: aiohttp.ClientSession) -> None:
        self._spec, self._asking = spec, Asking(session, "tokenizer")

    async def ask(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Tokenize each text; no token is generated."""
        self._asking.begin()
        golden, texts = target.golden(), target.casebook.texts
        why = recorded_for(golden, label(target.casebook))
        if golden is None or why:
            return skipped(why)
        if golden.tokenizer is None or not texts:
            return skipped("no fingerprint of the tokenizer is recorded")
        try:
            ids = [await self._asking.tokenize(target, text) for text in texts]
        except NoAnswerError as problem:
            return self._asking.could_not(problem)
        return self._weigh(golden.tokenizer, ids, texts)

    async def late(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Nothing is known."""
        return self._asking.late(self._spec.timeout)

    async def close(self) -> None:
        """Nothing is kept open."""

    def _weigh(self, recorded: str, ids: list[tuple[int, ...]], texts: tuple[str, ...]) -> Outcome:
        found = fingerprint(ids)
        if found == recorded:
            return self._asking.outcome(success(f"{len(texts)} texts have the recorded tokens", fingerprint=found))
        pairs = zip(found.split("-"), recorded.split("-"), strict=False)
        wrong = [place for place, (one, other) in enumerate(pairs) if one != other]
        place = wrong[0] if wrong else 0
        text = f"{len(wrong)} of {len(texts)} texts have other tokens than recorded, first {texts[place][:40]!r}"
        return self._asking.outcome(
            failure(f"{text}: {list(ids[place][:8])}", fingerprint=found, recorded=recorded, texts=wrong),
            self._asking.exchanges[place],
        )
