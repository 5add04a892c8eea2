"""Batches of which all, some or none of the requests have stored draft probabilities; a vocabulary of four."""

ID = "PN361"
STUBS = "the runner: only what the function reads of it; the function and the metadata of the step are real"
VERDICTS = dict.fromkeys(("0.23.0", "0.24.0", "0.30.0", "0.32.0", "0.33.0"), "applied")
A, B = [[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]], [[0.5, 0.5, 0.0, 0.0]]
GREEN = {
    "all known": A + B,
    "one missing": [*A, [0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0], *B],
    "one missing, without drafts": A + B,
    "none known": None,
    "nothing stored": None,
}
RED = {**GREEN, "one missing": None}


def observe(version):
    return {
        "all known": _rows(["a", "b"], [2, 1], [3, 0, 1]),
        "one missing": _rows(["a", "x", "b"], [2, 2, 1], [3, 0, 2, 1, 1]),
        "one missing, without drafts": _rows(["a", "x", "b"], [2, 0, 1], [3, 0, 1]),
        "none known": _rows(["x", "y"], [1, 1], [3, 0]),
        "nothing stored": _rows(["a", "b"], [2, 1], [3, 0, 1], stored=False),
    }


def _rows(names, counts, drafts, *, stored=True):
    import types

    import torch
    from vllm.v1.spec_decode.metadata import SpecDecodeMetadata
    from vllm.v1.worker.gpu_model_runner import GPUModelRunner

    metadata = SpecDecodeMetadata.make_dummy([[0] * count for count in counts], device=torch.device("cpu"))
    metadata.draft_token_ids = torch.tensor(drafts, dtype=torch.int32)
    runner = types.SimpleNamespace(
        _draft_probs=torch.tensor([A, [*B, [0.0, 0.0, 0.0, 1.0]]]) if stored else None,
        _draft_prob_req_ids=["a", "b"] if stored else None,
        input_batch=types.SimpleNamespace(req_ids=names),
    )
    found = GPUModelRunner._get_spec_decode_draft_probs(runner, metadata)
    return None if found is None else [[round(one, 4) for one in row] for row in found.tolist()]
