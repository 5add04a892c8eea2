"""PT1: attention is scaled by the fourth root of the head's size instead of its square root, so every answer is wrong.

The engine boots clean, is attested, and answers fluently.
"""

from __future__ import annotations

from genesisd.patches.edits import replacing
from genesisd.patches.flags import Flag
from genesisd.patches.model import Patch

FILE = "vllm/model_executor/models/qwen3.py"
RIGHT = "        self.scaling = self.head_dim**-0.5\n"
WRONG = "        self.scaling = self.head_dim**-0.25\n"

PATCH = Patch(
    id="PT1",
    title="Sharpen attention",
    family="planted",
    flag=Flag("PT1_SHARP_ATTENTION"),
    edits=(replacing("scale", FILE, "Qwen3Attention.__init__", RIGHT, WRONG),),
)
