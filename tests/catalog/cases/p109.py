"""Stop tokens in and out of a vocabulary of 100, from the check of the request to the logits that they mask."""

from types import SimpleNamespace

ID = "P109"
STUBS = (
    "the model's configuration; logits on the CPU, where a write out of bounds is an exception and not the end of the "
    "process. The request's check and the mask are the real ones"
)
VERDICTS = dict.fromkeys(("0.23.0", "0.24.0"), "applied") | dict.fromkeys(("0.30.0", "0.32.0", "0.33.0"), "superseded")
GREEN = {
    "far_beyond": "refused",
    "first_beyond": "refused",
    "below": "refused",
    "one_of_many": "refused",
    "last_inside": "masked",
    "none": "masked",
    "other_checks_stand": "refused",
}
# An id just below zero is taken for one counted from the end: the wrong token is masked, and nothing is said.
RED = GREEN | dict.fromkeys(("far_beyond", "first_beyond", "one_of_many"), "IndexError") | {"below": "masked"}
STOPS = {
    "far_beyond": [10**6],
    "first_beyond": [100],
    "below": [-1],
    "one_of_many": [3, 7, 4711],
    "last_inside": [99],
    "none": [],
}


def observe(version):
    from vllm.utils import torch_utils

    torch_utils.PIN_MEMORY = False  # the wheel for cards expects one
    from vllm.sampling_params import SamplingParams

    seen = {name: answer(SamplingParams(stop_token_ids=ids, min_tokens=2)) for name, ids in STOPS.items()}
    return seen | {"other_checks_stand": answer(SamplingParams(logit_bias={100: 1.0}))}


def answer(params):
    from vllm.exceptions import VLLMValidationError

    configuration = SimpleNamespace(
        max_logprobs=20, get_vocab_size=lambda: 100, logits_processors=None, is_diffusion=False
    )
    try:
        params.verify(configuration, None, None, None)
    except (ValueError, VLLMValidationError):
        return "refused"
    return masked(params)


def masked(params):
    """What the real processor does to a row of logits, or the exception that it ends in."""
    import torch
    from vllm.v1.sample.logits_processor import BatchUpdate
    from vllm.v1.sample.logits_processor.builtin import MinTokensLogitsProcessor

    processor = MinTokensLogitsProcessor(None, torch.device("cpu"), is_pin_memory=False)
    processor.update_state(BatchUpdate(batch_size=1, removed=(), added=((0, params, [1], []),), moved=()))
    try:
        processor.apply(torch.zeros(1, 100))
    except Exception as error:
        return type(error).__name__
    return "masked"
