"""What the kernels refuse, each with its reason: who is refused goes on with the engine's own path."""

from __future__ import annotations

from dataclasses import dataclass

from genesisd.kernels.tq_verify.layout import SlotLayout, difference

GRANULE = 16
"""Tokens that must lie together: the kernels look a page up once for so many."""


@dataclass(frozen=True)
class Setting:
    """What the backend runs with, asked once when the kernels are loaded."""

    layout: SlotLayout
    page_size: int
    query_heads: int
    kv_heads: int
    max_query_len: int
    capability: tuple[int, int]
    fp8_format: str
    """How the backend stored the keys: "e4nv" or "e4b15"."""
    cache_strides: tuple[int, int, int]
    """Bytes from page to page, from token to token, from KV head to KV head."""
    softcap: float = 0.0
    sliding_window: int = 0


@dataclass(frozen=True)
class Rows:
    """A tensor of tokens: [tokens, heads, head_dim], with its strides in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


def expected_format(capability: tuple[int, int]) -> str:
    """The FP8 format that the backend stores on a device: below sm 8.9 there is no e4nv."""
    return "e4nv" if capability >= (8, 9) else "e4b15"


def device_refusal(capability: tuple[int, int], fp8_format: str, done: str) -> str | None:
    """Why a device does not serve keys of an FP8 format, which are ``done`` (stored, read) so; or None."""
    if capability < (8, 0):
        return f"compute capability {capability[0]}.{capability[1]}: 8.0 or newer is needed"
    expected = expected_format(capability)
    if fp8_format != expected:
        return f"keys {done} as {fp8_format}, but this device's format is {expected}"
    return None


def tail_refusal(
    query: Rows, key: Rows | None, value: Rows | None, *, kv_heads: int, form: str, splits: int
) -> str | None:
    """Why a raw tail is not read beside a query by a plan of this form and number of splits, or None."""
    wanted = (query.shape[0], kv_heads, query.shape[2])
    for name, found in (("tail_key", key), ("tail_value", value)):
        if found is None:
            return f"no {name}: a tail has both, or the cache holds all tokens and neither is given"
        if found.shape != wanted:
            return f"{name} of shape {list(found.shape)}: {list(wanted)} is needed, a row for each row of the query"
        if found.dtype != query.dtype:
            return f"{name} holds {found.dtype} and the query {query.dtype}: give both as the same"
        if found.strides[1:] != (wanted[2], 1):
            return f"{name}'s heads do not follow each other (strides {found.strides}): copy it with .contiguous()"
    if form == "warp-group" or splits < 2:
        return f"a plan of the form {form} and {splits} splits has no program for a tail: plan for a shape with one"
    return None


def refusal(setting: Setting) -> str | None:
    """Why the kernels do not serve a setting, or None."""
    return (
        _layout(setting)
        or _shape(setting)
        or device_refusal(setting.capability, setting.fp8_format, "stored")
        or _feature(setting)
    )


def _layout(setting: Setting) -> str | None:
    found = difference(setting.layout)
    if found is not None:
        return f"the cache has another layout: {found}"
    if any(stride % 4 for stride in setting.cache_strides):
        return f"cache strides of {setting.cache_strides} bytes are not all multiples of 4, which the loads need"
    if setting.kv_heads * setting.cache_strides[2] // 4 >= 2**31:
        return f"KV heads lie {setting.cache_strides[2]} bytes apart: within 8 GiB all of them have to begin"
    return None


def _shape(setting: Setting) -> str | None:
    head_dim = setting.layout.head_dim
    if head_dim % 8 or not 64 <= head_dim <= 512:
        return f"head_dim {head_dim} is not a multiple of 8 from 64 to 512"
    if setting.page_size % GRANULE:
        return f"pages of {setting.page_size} tokens are not whole multiples of {GRANULE}"
    if setting.query_heads % setting.kv_heads:
        return f"{setting.query_heads} query heads cannot be shared out to {setting.kv_heads} KV heads"
    if not 1 <= setting.max_query_len <= 16:
        return f"{setting.max_query_len} query tokens a sequence: 1 to 16 are served"
    return None


def _feature(setting: Setting) -> str | None:
    if setting.softcap:
        return f"a logits soft cap of {setting.softcap}: the backend itself applies none, so neither does the kernel"
    if setting.sliding_window:
        return (
            f"a sliding window of {setting.sliding_window}: the backend itself applies none, so neither does the kernel"
        )
    return None
