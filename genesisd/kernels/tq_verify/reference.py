"""What tq_verify computes, in float64 and plain steps."""

from __future__ import annotations

import torch

from genesisd.kernels.tq_verify.layout import K8V4


def keys_of(raw: torch.Tensor, fp8_format: str) -> torch.Tensor:
    """Stored keys as float64. e4b15 has the exponent bias of float16 and no value that is not a number."""
    if fp8_format == "e4nv":
        return raw.contiguous().view(torch.float8_e4m3fn).double()
    wide = raw.to(torch.int32)
    return (((wide & 0x80) << 8) | ((wide & 0x7F) << 7)).to(torch.int16).view(torch.float16).double()


def values_of(raw: torch.Tensor, head_dim: int) -> torch.Tensor:
    """Stored values (with their scale and zero) as float64."""
    packed = raw[..., : head_dim // 2]
    nibbles = torch.stack([packed & 15, packed >> 4], -1).flatten(-2).double()
    scale_zero = raw[..., head_dim // 2 :].contiguous().view(torch.float16).double()
    return nibbles * scale_zero[..., :1] + scale_zero[..., 1:]


def tokens_of(
    cache: torch.Tensor, pages: torch.Tensor, length: int, head_dim: int, fp8_format: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Keys and values [tokens, KV heads, head_dim] of one sequence, gathered page by page."""
    used = -(-length // cache.shape[1])
    slots = cache[pages[:used].long()].flatten(0, 1)[:length]
    key_bytes = K8V4(head_dim).key_bytes
    return keys_of(slots[..., :key_bytes], fp8_format), values_of(slots[..., key_bytes:], head_dim)


def attend(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float) -> torch.Tensor:
    """The last len(query) tokens' attention, causal. A row that sees no token is zero."""
    count, heads, dim = query.shape
    length, kv_heads, _ = keys.shape
    rows = query.double().view(count, kv_heads, heads // kv_heads, dim)
    scores = torch.einsum("jkgd,tkd->jkgt", rows, keys) * scale
    last = length - count + torch.arange(count, device=query.device)
    hidden = torch.arange(length, device=query.device)[None, :] > last[:, None]
    weights = scores.masked_fill(hidden[:, None, None], float("-inf")).softmax(-1).nan_to_num(0.0)
    return torch.einsum("jkgt,tkd->jkgd", weights, values).reshape(count, heads, dim)


def reference(
    query: torch.Tensor,
    cache: torch.Tensor,
    table: torch.Tensor,
    lens: torch.Tensor,
    starts: torch.Tensor,
    *,
    scale: float,
    fp8_format: str = "e4nv",
    tail_key: torch.Tensor | None = None,
    tail_value: torch.Tensor | None = None,
) -> torch.Tensor:
    """As launch.tq_verify, float64, a sequence at a time."""
    outs = []
    for sequence, length in enumerate(lens.tolist()):
        first, end = int(starts[sequence]), int(starts[sequence + 1])
        newest = 0 if tail_key is None else min(end - first, length)
        keys, values = tokens_of(cache, table[sequence], length - newest, query.shape[2], fp8_format)
        if tail_key is not None and tail_value is not None:
            keys = torch.cat([keys, tail_key[end - newest : end].double()])
            values = torch.cat([values, tail_value[end - newest : end].double()])
        outs.append(attend(query[first:end], keys, values, scale))
    return torch.cat(outs) if outs else torch.empty_like(query, dtype=torch.float64)
