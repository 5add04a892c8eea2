from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")

from genesisd.kernels.tq_verify import hopper, nvrtc


@pytest.mark.parametrize(
    "error",
    [
        nvrtc.CompileError("libnvrtc was not found beside torch"),
        OSError("libcuda.so.1: cannot open shared object file"),
        RuntimeError("cuModuleLoadData said 209"),
    ],
    ids=["compiler", "driver", "binary"],
)
def test_a_form_that_cannot_be_built_is_left_out_with_the_reason(monkeypatch, caplog, error):
    """It is tried once, and the log says once why the slower forms serve."""
    tried = []

    def fails(*shape):
        tried.append(shape)
        raise error

    monkeypatch.setattr(hopper, "_merge_function", fails)
    hopper._works.cache_clear()
    assert [hopper._works(0), hopper._works(0)] == [False, False]
    hopper._works.cache_clear()
    assert len(tried) == 1
    (said,) = caplog.messages
    assert str(error) in said


def test_a_tensor_on_the_cpu_is_not_served():
    """Nothing is compiled for it."""
    assert not hopper.serves(torch.empty(1, 8, 128, dtype=torch.bfloat16))
