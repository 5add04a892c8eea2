"""What the engine says where the argument and the checkpoint disagree, and where they do not."""

from types import SimpleNamespace

ID = "PN60"
STUBS = "the configuration around the check; the platform, which takes every method. The check itself is the real one"
VERDICTS = dict.fromkeys(("0.23.0", "0.24.0", "0.30.0", "0.32.0", "0.33.0"), "applied")
HINT = "Leave --quantization out: the checkpoint says what it is."
RED = {"contradicts": "(bitsandbytes).", "left_out": "fp8", "agrees": "fp8", "unquantised": None}
GREEN = RED | {"contradicts": f"(bitsandbytes). {HINT}"}


def observe(version):
    from vllm.config import model

    model.current_platform = SimpleNamespace(verify_quantization=lambda _: None, is_rocm=lambda: False)
    checkpoint = {"quant_method": "fp8", "activation_scheme": "dynamic"}
    return {
        "contradicts": said(model, "bitsandbytes", checkpoint),
        "left_out": said(model, None, checkpoint),
        "agrees": said(model, "fp8", checkpoint),
        "unquantised": said(model, None, None),
    }


def said(model, argument, checkpoint):
    """The end of what is said, or the method that is taken."""
    configuration = SimpleNamespace(
        quantization=argument,
        model_arch_config=SimpleNamespace(quantization_config=checkpoint),
        hf_config=SimpleNamespace(model_type="qwen3"),
        allow_deprecated_quantization=True,
    )
    try:
        model.ModelConfig._verify_quantization(configuration)
    except ValueError as error:
        return str(error).partition("`quantization` argument ")[2]
    return configuration.quantization
