"""P86: for every request of the batch, the ngram proposer searches the list of those that have proposals.

That is a product of two batch sizes in Python, on the path of every step: tens of milliseconds at two thousand
requests. The list says itself where the proposals belong.
"""

from __future__ import annotations

from genesisd.patches.edits import replacing
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Study

FILE = "vllm/v1/spec_decode/ngram_proposer.py"
SEARCH = """\
        for i in range(num_requests):
            if i in valid_ngram_requests and self.valid_ngram_num_drafts[i] > 0:
                draft_token_ids.append(
                    self.valid_ngram_draft[i, : self.valid_ngram_num_drafts[i]].tolist()
                )
            else:
                draft_token_ids.append([])
"""
FILL = """\
        draft_token_ids.extend([] for _ in range(num_requests))
        for i in valid_ngram_requests:
            num_drafts = self.valid_ngram_num_drafts[i]
            if num_drafts > 0:
                draft_token_ids[i] = self.valid_ngram_draft[i, :num_drafts].tolist()
"""

PATCH = Patch(
    id="P86",
    title="Fill ngram proposals in one pass",
    family="spec_decode",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.BACKPORT,
    flag=Flag("P86"),
    upstream=(40876,),
    credit="aaronagent",
    versions=">=0.23.0",
    edits=(replacing("fill", FILE, "NgramProposer.batch_propose", SEARCH, FILL),),
    study=Study(
        upstream="fills by the list of valid requests",
        ours="the same idea; each request has a list of its own",
        tests="equal proposals for batches with and without matches; comparisons counted, since times are no proof",
    ),
)
