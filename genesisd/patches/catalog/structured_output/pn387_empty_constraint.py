"""PN387: an empty JSON schema, or ``json_object`` set to false, passes the check of the request and fails in the engine.

Both are there, so the request counts as constrained; both are falsy, so no check looks at them. The engine finds
nothing to compile, or compiles the empty string. Before 0.30 that exception ends the engine for everybody.
"""

from __future__ import annotations

from genesisd.patches.edits import AnchorEdit, Marker, Placement, Variant
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Study

FILE = "vllm/sampling_params.py"
REFUSED = """\
        schema = self.structured_outputs.json
        if isinstance(schema, str) and not schema.strip():
            raise VLLMValidationError(
                "structured_outputs.json is empty: give a schema, or leave the field out"
            )
        if self.structured_outputs.json_object is False:
            raise VLLMValidationError(
                "structured_outputs.json_object is false: set it, or leave the field out"
            )
"""

PATCH = Patch(
    id="PN387",
    title="Refuse structured output requests that ask for nothing",
    family="structured_output",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.BACKPORT,
    flag=Flag("PN387_EMPTY_CONSTRAINT"),
    upstream=(45346,),
    credit="vLLM contributors",
    applied_upstream="0.30.0",
    versions=">=0.23.0",
    edits=(
        AnchorEdit(
            "refuse",
            FILE,
            "SamplingParams._validate_structured_outputs",
            (
                Variant(
                    '            raise ValueError("structured_outputs.grammar cannot be an empty string")\n',
                    REFUSED,
                ),
            ),
            placement=Placement.AFTER,
        ),
    ),
    markers=(Marker(FILE, "structured_outputs.json cannot be an empty string"),),
    study=Study(
        upstream="refuses both beside the empty grammar that it refused before",
        ours="the same, in the same place; what to write instead is in the message",
        tests="an empty schema, a blank one and a false json_object, by each way to choose a backend; what passes",
    ),
)
