"""A compiler that never returns for one request, and the request behind it, with one thread to compile for both.

Before 0.30 the exception of a failed grammar leaves ``StructuredOutputRequest.grammar`` and ends the engine, so the
patch keeps out (``version``), although the defect is there.
"""

import os
import time
from types import SimpleNamespace

ID = "PN389"
STUBS = (
    "the compiler of xgrammar where it shall be slow, by one that waits; the request, its configuration and a tokenizer "
    "of some letters. The backend, the manager and the compilation of the other requests are the real ones"
)
VERDICTS = {"0.23.0": "version", "0.24.0": "version"} | dict.fromkeys(("0.30.0", "0.32.0", "0.33.0"), "applied")
HELD = {"slow": "waits", "behind": "waits"}
FREED = {"slow": "fails", "behind": "ready"}
ARMS = ("json", "json_object", "grammar", "structural_tag", "structural_tag_of_old")
CONTROLS = {"regex": FREED, "nothing_slow": {"slow": "ready", "behind": "ready"}, "wrong": FREED}
RED = dict.fromkeys(ARMS, HELD) | CONTROLS | {"six_slow": ["waits"] * 6}
# What is given up runs on, so only so many are.
GREEN = dict.fromkeys(ARMS, FREED) | CONTROLS | {"six_slow": ["fails"] * 4 + ["waits"] * 2}
LARK = "start: /a+/"
RED = {"0.30.0": RED} | dict.fromkeys(("0.32.0", "0.33.0", "0.23.0", "0.24.0"), RED | {"lark": HELD})
GREEN = {"0.30.0": GREEN} | dict.fromkeys(("0.32.0", "0.33.0", "0.23.0", "0.24.0"), GREEN | {"lark": FREED})

TAG = '{"type": "structural_tag", "format": {"type": "const_string", "value": "a"}}'
TAG_OF_OLD = '{"structures": [{"begin": "<a>", "schema": {"type": "object"}, "end": "</a>"}], "triggers": ["<a>"]}'
# What is asked for, and the method of the compiler that does not return.
REQUESTS = {
    "json": ({"json": '{"type": "object"}'}, "compile_json_schema"),
    "json_object": ({"json_object": True}, "compile_json_schema"),
    "grammar": ({"grammar": 'root ::= "a"'}, "compile_grammar"),
    "structural_tag": ({"structural_tag": TAG}, "compile_structural_tag"),
    "structural_tag_of_old": ({"structural_tag": TAG_OF_OLD}, "compile_structural_tag"),
    "regex": ({"regex": "a+"}, "compile_regex"),
    "nothing_slow": ({"json": '{"type": "object"}'}, ""),
    "wrong": ({"grammar": "root ::= ("}, ""),
    "lark": ({"grammar": LARK}, "compile_lark"),
}
UNANSWERED_S, DEADLINE_S = 5, 60


def observe(version):
    os.environ["GENESIS_PN389_TIMEOUT_S"] = "0.2"
    os.environ["VLLM_REGEX_COMPILATION_TIMEOUT_S"] = "1"
    import vllm.platforms  # noqa: F401 - the order that the engine has, or a circle closes
    from vllm.v1.structured_output import StructuredOutputManager

    names = [name for name in REQUESTS if name != "lark" or version != "0.30.0"]
    asked = {name: ask(StructuredOutputManager, *REQUESTS[name]) for name in names}
    began = time.monotonic()
    while time.monotonic() < began + DEADLINE_S:
        states = {name: {who: state(one) for who, one in pair.items()} for name, pair in asked.items()}
        settled = [name for name in states if "waits" not in states[name].values()]
        if len(settled) == len(names):
            break
        if {*settled} == {*CONTROLS} and time.monotonic() > began + UNANSWERED_S:
            break
        time.sleep(0.05)
    return states | {"six_slow": six_slow(StructuredOutputManager)}


def six_slow(manager_class):
    """What becomes of six requests whose schemas never compile, one after the other."""
    wanted, slow = REQUESTS["json"]
    manager = manager_of(manager_class, slow)
    asked = [request(wanted) for _ in range(6)]
    for one in asked:
        manager.grammar_init(one)
    began, last = time.monotonic(), asked[3]
    while time.monotonic() < began + UNANSWERED_S and state(last) == "waits":
        time.sleep(0.05)
    time.sleep(0.5)  # more than the deadline: a fifth would have failed by now
    return [state(one) for one in asked]


def ask(manager_class, wanted, slow):
    """A manager of its own, with the request and then a quick one handed to it."""
    manager = manager_of(manager_class, slow)
    pair = {"slow": request(wanted), "behind": request({"regex": "b"} if slow != "compile_regex" else {"json": "{}"})}
    for one in pair.values():
        manager.grammar_init(one)
    return pair


def manager_of(manager_class, slow):
    """A manager with one thread to compile, and a compiler that does not return from the method ``slow``."""
    from concurrent.futures import ThreadPoolExecutor

    from vllm.v1.structured_output.backend_xgrammar import XgrammarBackend

    manager = object.__new__(manager_class)
    manager._use_async_grammar_compilation = True
    manager.executor = ThreadPoolExecutor(max_workers=1)
    manager.backend, manager.backend_name = backend(XgrammarBackend, slow), "xgrammar"
    return manager


def backend(xgrammar_backend, slow):
    import threading

    import xgrammar
    from vllm.v1.structured_output import backend_xgrammar

    class Compiler(xgrammar.GrammarCompiler):
        pass

    if slow:
        setattr(Compiler, slow, lambda self, *_, **__: threading.Event().wait())
    backend_xgrammar.xgr = SimpleNamespace(
        TokenizerInfo=xgrammar.TokenizerInfo,
        VocabType=xgrammar.VocabType,
        StructuralTagItem=xgrammar.StructuralTagItem,
        GrammarMatcher=xgrammar.GrammarMatcher,
        GrammarCompiler=Compiler,
    )
    configuration = SimpleNamespace(
        structured_outputs_config=SimpleNamespace(disable_any_whitespace=False),
        speculative_config=None,
        model_config=None,
    )
    letters = tokenizer()
    return xgrammar_backend(configuration, tokenizer=letters, vocab_size=len(letters))


def tokenizer():
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    pieces = [chr(n) for n in range(32, 127)] + ["</s>"]
    model = models.WordLevel({piece: n for n, piece in enumerate(pieces)}, unk_token=" ")
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(model), eos_token="</s>")


def request(wanted):
    from vllm.sampling_params import SamplingParams, StructuredOutputsParams
    from vllm.v1.structured_output.request import StructuredOutputRequest

    params = StructuredOutputsParams(**wanted)
    params._backend = "xgrammar"
    sampling = SamplingParams(structured_outputs=params)
    return SimpleNamespace(
        request_id="r", sampling_params=sampling, structured_output_request=StructuredOutputRequest(params)
    )


def state(one):
    grammar = one.structured_output_request.grammar
    return "waits" if grammar is None else "fails" if isinstance(grammar, Exception) else "ready"
