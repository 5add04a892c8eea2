"""Keys and values into cache bytes, in plain steps: what the backend's own store writes."""

from __future__ import annotations

import torch


def fp8_bytes(keys: torch.Tensor, fp8_format: str) -> torch.Tensor:
    """Keys (float32) as FP8 bytes; what is beyond the greatest number becomes it.

    e4b15 is float16 without its highest exponent bit and seven bits of its mantissa. The backend cuts a key off to
    float16 and rounds what is left, halves upwards.
    """
    if fp8_format == "e4nv":
        return keys.clamp(-448, 448).to(torch.float8_e4m3fn).view(torch.uint8)
    size = keys.abs().clamp(max=1.75)
    normal = (size.view(torch.int32) >> 13) - (112 << 10)
    half = torch.where(size >= 2**-14, normal, (size * 2**24).to(torch.int32))
    return (((half + 0x40) >> 7) | (keys.signbit().to(torch.int32) << 7)).to(torch.uint8)


def value_bytes(values: torch.Tensor) -> torch.Tensor:
    """Values as nibbles between their least and greatest, with float16 scale and zero behind them."""
    low, high = values.amin(-1, keepdim=True), values.amax(-1, keepdim=True)
    scale = ((high - low) / 15).clamp(min=1e-8)
    nibbles = ((values - low) / scale + 0.5).to(torch.int32).clamp(0, 15)
    packed = (nibbles[..., ::2] | (nibbles[..., 1::2] << 4)).to(torch.uint8)
    return torch.cat([packed, torch.cat([scale, low], -1).to(torch.float16).view(torch.uint8)], -1)


def slots(keys: torch.Tensor, values: torch.Tensor, fp8_format: str = "e4nv") -> torch.Tensor:
    """[..., head_dim] keys and values to [..., slot bytes]."""
    return torch.cat([fp8_bytes(keys.float(), fp8_format), value_bytes(values.float())], -1)
