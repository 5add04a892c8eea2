"""PN389: a schema that takes minutes to compile holds its client, and the clients behind it, for as long.

Only regular expressions are compiled against a deadline. With six levels of alternatives, four to a level, a JSON
schema takes 20 s, and with five it takes one. The threads that compile are few: once each is busy with such a
schema, no other request that wants structured output begins.

Before 0.30 a grammar that fails takes the engine with it instead of its request, so there a deadline would be
worse than the wait.
"""

from __future__ import annotations

from genesisd.patches.edits import MODULE, AnchorEdit, Placement, Variant
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Study
from genesisd.patches.parameters import Kind, Parameter

FILE = "vllm/v1/structured_output/backend_xgrammar.py"
IN_TIME = '''\


import functools
import os
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FuturesTimeout


class _GenesisInTime:
    """A compiler that is waited for no longer than GENESIS_PN389_TIMEOUT_S seconds."""

    def __init__(self, compiler) -> None:
        self._compiler = compiler
        # What is given up runs on, as nothing can stop it. Beyond these, a request waits as it would without a
        # deadline: else whoever sends such schemas could have every core.
        self._given_up = threading.BoundedSemaphore(4)

    def __getattr__(self, name: str):
        found = getattr(self._compiler, name)
        # A regular expression has its own deadline.
        timed = name.startswith("compile_") and name != "compile_regex"
        return functools.partial(_genesis_in_time, self._given_up, found) if timed else found


def _genesis_in_time(given_up, compile, *given, **named):
    seconds = float(os.environ.get("GENESIS_PN389_TIMEOUT_S", "30"))
    compiled: Future = Future()

    def work() -> None:
        try:
            compiled.set_result(compile(*given, **named))
        except BaseException as error:
            compiled.set_exception(error)

    # As a daemon it keeps nobody from leaving.
    threading.Thread(target=work, name="genesis-compile", daemon=True).start()
    try:
        return compiled.result(seconds)
    except (TimeoutError, FuturesTimeout):  # one and the same from Python 3.11 on
        if not given_up.acquire(blocking=False):
            return compiled.result()
        compiled.add_done_callback(lambda _: given_up.release())
        raise ValueError(f"its grammar takes longer than {seconds:g} s to compile; make it less nested") from None
'''
HERE = "        self.compiler = _GenesisInTime(self.compiler)\n"

PATCH = Patch(
    id="PN389",
    title="Time out every kind of grammar compilation",
    family="structured_output",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.BACKPORT,
    flag=Flag("PN389_COMPILE_IN_TIME"),
    upstream=(45390,),
    credit="vLLM contributors",
    parameters=(Parameter("GENESIS_PN389_TIMEOUT_S", Kind.FLOAT, 30.0, low=0.1, high=3600),),
    versions=">=0.30.0",
    edits=(
        AnchorEdit(
            "in_time",
            FILE,
            MODULE,
            (Variant("logger = init_logger(__name__)\n", IN_TIME),),
            placement=Placement.AFTER,
        ),
        AnchorEdit(
            "compilers",
            FILE,
            "XgrammarBackend.__post_init__",
            (
                Variant(
                    "            cache_limit_bytes=vllm.envs.VLLM_XGRAMMAR_CACHE_MB * 1024 * 1024,\n        )\n",
                    HERE,
                    "one",
                ),
                Variant(
                    "            else self._create_compiler(full_vocab_tokenizer_info)\n        )\n",
                    f"{HERE}        self.full_vocab_compiler = _GenesisInTime(self.full_vocab_compiler)\n",
                    "two",
                ),
            ),
            placement=Placement.AFTER,
        ),
    ),
    study=Study(
        upstream="proposes the deadline of regular expressions, 5 s, at each call of the compiler; its waiting threads "
        "are joined when the process ends, which then takes as long as the compiler does",
        ours="at the compiler, so that no call is missed and none that is added later; 30 s, since a hundred tools "
        "compile in tens of seconds; in threads that let the process go. The front end's own parsing of a schema, "
        "a twentieth of the time, has no deadline here either",
        tests="each kind of grammar against a compiler that does not return, and a regular expression for control",
    ),
)
