"""PN60: a ``--quantization`` that the checkpoint contradicts is refused without a word on what to write.

The engine compares both and stops, rightly; the way out, which is nearly always to leave the argument away, is for
the reader of a long traceback to guess.
"""

from __future__ import annotations

from genesisd.patches.edits import replacing
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, StableKind
from genesisd.patches.model import Patch

PATCH = Patch(
    id="PN60",
    title="Check the quantisation argument against the checkpoint",
    family="loader",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    flag=Flag("PN60"),
    credit="Genesis, apnar",
    versions=">=0.23.0",
    edits=(
        replacing(
            "hint",
            "vllm/config/model.py",
            "ModelConfig._verify_quantization",
            '                    f"({self.quantization})."\n',
            '                    f"({self.quantization}). Leave --quantization out: the checkpoint says what it is."\n',
        ),
    ),
)
