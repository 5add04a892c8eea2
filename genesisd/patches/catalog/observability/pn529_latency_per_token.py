"""PN529: the time between tokens is told per token, also where a step makes several.

The engine's histogram has one sample a step. With speculation a step of four tokens in 40 ms counts as one interval of
40 ms, so the metric rises when decoding gets faster, and alerts on it fire. Upstream has since documented the metric
as per step; this is for those who compare lanes with and without speculation. The time per output token of finished
requests was right before, and is left alone.
"""

from __future__ import annotations

from genesisd.patches.edits import replacing
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Study

FILE = "vllm/v1/metrics/stats.py"
WHOLE = """\
            self.inter_token_latencies_iter.append(itl)
"""
SHARED = """\
            # Tokens of one step share its time; a step without any stays one sample.
            shares = max(num_new_generation_tokens, 1)
            self.inter_token_latencies_iter.extend([itl / shares] * shares)
"""

PATCH = Patch(
    id="PN529",
    title="Tell the time between tokens per token",
    family="observability",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.RELATED,
    flag=Flag("PN529_LATENCY_SHARED"),
    upstream=(47382,),
    credit="vLLM contributors",
    versions=">=0.23.0",
    edits=(replacing("share", FILE, "IterationStats.update_from_output", WHOLE, SHARED),),
    study=Study(
        upstream="an open proposal to divide; the documentation went the other way",
        ours="as many samples as tokens, which add up to the time that passed",
        tests="steps of one, four and no tokens; the first token and the mean per request as controls",
    ),
)
