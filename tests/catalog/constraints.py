"""What becomes of constraints on an answer, from the check of the request to the compiled grammar, for cases."""

import itertools
from types import SimpleNamespace


def outcomes(version, asked):
    """By constraint and backend: ``refused``, ``compiled``, or the exception that it ends in."""
    from vllm.config import StructuredOutputsConfig
    from vllm.exceptions import VLLMValidationError
    from vllm.sampling_params import SamplingParams, StructuredOutputsParams

    letters = tokenizer()
    seen = {}
    for backend, (name, wanted) in itertools.product(("xgrammar", "auto"), asked.items()):
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
