"""JSON that asks for something and JSON that asks for nothing, from the check of the request to the grammar."""

import itertools
from types import SimpleNamespace

ID = "PN387"
STUBS = "the engine's configuration; a tokenizer of some letters. The check, the backend and xgrammar are the real ones"
VERDICTS = dict.fromkeys(("0.23.0", "0.24.0"), "applied") | dict.fromkeys(("0.30.0", "0.32.0", "0.33.0"), "superseded")
ASKED = {
    "empty schema": {"json": ""},
    "blank schema": {"json": " \n"},
    "false": {"json_object": False},
    "true": {"json_object": True},
    "a schema": {"json": '{"type": "object"}'},
    "a schema of anything": {"json": {}},
    "empty grammar": {"grammar": ""},
}
GREEN = {
    "empty schema, xgrammar": "refused",
    "blank schema, xgrammar": "refused",
    "false, xgrammar": "refused",
    "true, xgrammar": "compiled",
    "a schema, xgrammar": "compiled",
    "a schema of anything, xgrammar": "compiled",
    "empty grammar, xgrammar": "refused",
    "empty schema, auto": "refused",
    "blank schema, auto": "refused",
    "false, auto": "refused",
    "true, auto": "compiled",
    "a schema, auto": "compiled",
    "a schema of anything, auto": "compiled",
    "empty grammar, auto": "refused",
}
RED = GREEN | {
    "empty schema, xgrammar": "RuntimeError",
    "false, xgrammar": "ValueError",
    "empty schema, auto": "RuntimeError",
    "false, auto": "ValueError",
}


def observe(version):
    from vllm.config import StructuredOutputsConfig
    from vllm.exceptions import VLLMValidationError
    from vllm.sampling_params import SamplingParams, StructuredOutputsParams

    letters = tokenizer()
    seen = {}
    for backend, (name, wanted) in itertools.product(("xgrammar", "auto"), ASKED.items()):
        params = SamplingParams(structured_outputs=StructuredOutputsParams(**wanted))
        configuration = StructuredOutputsConfig(backend=backend)
        model = () if version == "0.23.0" else (SimpleNamespace(is_diffusion=False),)
        try:
            params._validate_structured_outputs(*model, configuration, letters)
        except (ValueError, VLLMValidationError):
            seen[f"{name}, {backend}"] = "refused"
        else:
            seen[f"{name}, {backend}"] = compiled(params, letters)
    return seen


def compiled(params, letters):
    """What the engine makes of a request that was accepted, or the exception that it ends in."""
    from vllm.v1.structured_output.backend_xgrammar import XgrammarBackend
    from vllm.v1.structured_output.request import StructuredOutputRequest

    configuration = SimpleNamespace(
        structured_outputs_config=SimpleNamespace(disable_any_whitespace=False),
        speculative_config=None,
        model_config=None,
    )
    try:
        key = StructuredOutputRequest(params.structured_outputs).structured_output_key
        XgrammarBackend(configuration, tokenizer=letters, vocab_size=len(letters)).compile_grammar(*key)
    except Exception as error:
        return type(error).__name__
    return "compiled"


def tokenizer():
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    pieces = [chr(n) for n in range(32, 127)] + ["</s>"]
    model = models.WordLevel({piece: n for n, piece in enumerate(pieces)}, unk_token=" ")
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(model), eos_token="</s>")
