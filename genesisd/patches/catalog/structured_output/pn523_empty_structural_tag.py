"""PN523: an empty structural tag passes the check of the request and fails in the engine.

The check takes an empty string for no tag at all and finds nothing to object to; the engine then reads it as JSON.
Before 0.30 that exception ends the engine, later the request fails with an error that does not say what is wrong.
"""

from __future__ import annotations

from genesisd.patches.edits import AnchorEdit, Marker, Placement, Variant
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Implementation, Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Study

FILE = "vllm/sampling_params.py"
REFUSED = """\
        tag = self.structured_outputs.structural_tag
        if isinstance(tag, str) and not tag.strip():
            raise VLLMValidationError(
                "structured_outputs.structural_tag is empty: give a tag, or leave the field out"
            )
"""

PATCH = Patch(
    id="PN523",
    title="Refuse an empty structural tag",
    family="structured_output",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    implementation=Implementation.PARTIAL,
    origin=Origin.BACKPORT,
    flag=Flag("PN523_EMPTY_STRUCTURAL_TAG"),
    upstream=(47450,),
    credit="vLLM contributors",
    applied_upstream="0.32.0",
    versions=">=0.23.0",
    edits=(
        AnchorEdit(
            "refuse",
            FILE,
            "SamplingParams._validate_structured_outputs",
            (Variant("        # Reject empty string grammar early to avoid engine-side crashes\n", REFUSED),),
            placement=Placement.BEFORE,
        ),
    ),
    markers=(Marker(FILE, "structured_outputs.structural_tag cannot be an empty string"),),
    study=Study(
        upstream="once refused empty regular expressions as well, and then allowed them with a reason",
        ours="the tag alone: an empty regular expression is a grammar, if an odd one, and stays allowed",
        tests="an empty tag and a blank one, by each way to choose a backend; a tag and an empty expression that pass",
    ),
)
