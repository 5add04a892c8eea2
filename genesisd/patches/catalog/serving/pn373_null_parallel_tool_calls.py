"""PN373: a client that sends ``"parallel_tool_calls": null`` means that it does not care.

The filter takes whatever is falsy for a no and throws away all calls but the first. Clients that serialise unset
fields as null lose the rest of a parallel call without a word.
"""

from __future__ import annotations

from genesisd.patches.edits import Marker, replacing
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Study

FILE = "vllm/entrypoints/serve/utils/tool_calls_utils.py"

PATCH = Patch(
    id="PN373",
    title="Read a null parallel_tool_calls as unset",
    family="serving",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.BACKPORT,
    flag=Flag("PN373_NULL_PARALLEL_TOOL_CALLS"),
    upstream=(44955,),
    credit="vLLM contributors",
    applied_upstream="0.24.0",
    versions=">=0.23.0",
    edits=(
        replacing(
            "keep_unless_forbidden",
            FILE,
            "maybe_filter_parallel_tool_calls",
            "    if request.parallel_tool_calls:\n        return choice\n",
            "    if request.parallel_tool_calls in (None, True):\n        return choice\n",
        ),
    ),
    markers=(Marker(FILE, "parallel_tool_calls is explicitly False"),),
    study=Study(
        upstream="compares with False by identity, in the same place",
        ours="the same decision; a 0 that is no JSON boolean never gets here, since the request is validated",
        tests="null, true and false against a choice of three calls",
    ),
)
