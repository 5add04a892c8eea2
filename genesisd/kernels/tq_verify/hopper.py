"""The form written in CUDA for Hopper: hopper.cu completed for a shape, compiled once, launched."""

from __future__ import annotations

import ctypes
import functools
import logging
import math
import pathlib

import torch

from genesisd.kernels.tq_verify import nvrtc

logger = logging.getLogger(__name__)
HERE = pathlib.Path(__file__).parent
ATTEND = ("hopper_units.cu", "hopper_query.cu", "hopper.cu")
SHARE, MERGE = "hopper_share.cu", "hopper_merge.cu"
TILE = 64
THREADS = 128
_LEFT_OUT: dict[int, str] = {}
"""Devices on which this form was found to fail, and how."""


def source(rows: int, narrow: int = 0) -> str:
    """The device code with its products for so many rows, and for those of a short batch (multiples of 8)."""
    products = "".join(
        _product("keys_product", width, "k32.f32.e4m3.e4m3", "p, 1, 1")
        + _product("values_product", width, "k16.f32.f16.f16", "p, 1, 1, 0")
        for width in filter(None, (rows, narrow))
    )
    types = "typedef unsigned int u32;\ntypedef unsigned long long u64;\n"
    return "\n".join([types, _text(SHARE), products, *map(_text, ATTEND)])


def _text(name: str) -> str:
    return (HERE / name).read_text()


def _product(name: str, rows: int, kind: str, scales: str) -> str:
    count = rows // 2
    sums = ", ".join(f"%{i}" for i in range(count))
    operands = ", ".join(f'"+f"(d[{i}])' for i in range(count))
    return (
        f"__device__ __forceinline__ void {name}(float (&d)[{count}], const u32 (&a)[4], u64 b, int add) {{\n"
        f'  asm volatile("{{.reg .pred p; setp.ne.b32 p, %{count + 5}, 0;\\n"\n'
        f'    "wgmma.mma_async.sync.aligned.m64n{rows}{kind} {{{sums}}}, "\n'
        f'    "{{%{count}, %{count + 1}, %{count + 2}, %{count + 3}}}, %{count + 4}, {scales};}}\\n"\n'
        f'    : {operands} : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));\n}}\n'
    )


def shared_bytes(dim: int, rows: int, stages: int) -> int:
    """Both halves of the query, two tiles of weights, the stages, what warps tell each other, the stages' barriers."""
    row = 100 if dim == 256 else 52
    return 2 * rows * dim + 2 * rows * 128 + stages * TILE * row * 4 + 4 * rows * 4 + 64


def serves(query: torch.Tensor) -> bool:
    """Whether this form can serve tensors like these: else the forms in triton do."""
    dim = query.shape[2]
    return (
        query.is_cuda
        and torch.cuda.get_device_capability(query.device) == (9, 0)
        and dim in (128, 256)
        and query.dtype in (torch.bfloat16, torch.float16)
        and query.stride(0) % 8 == 0
        and query.data_ptr() % 16 == 0
        and query.device.index not in _LEFT_OUT
        and _works(query.device.index)
    )


def leave_out(device: int, reason: str) -> None:
    """Serve nothing on a device from now on: the form was tried there, and failed."""
    logger.warning("tq_verify: the form in CUDA is left out, and triton's serve: %s", reason)
    _LEFT_OUT[device] = reason


@functools.cache
def _works(device: int) -> bool:
    """Whether device code can be compiled and loaded here, tried once with the smaller of the two."""
    try:
        _merge_function(device, 128, 8, 8, 8, 1, 128, 1, 1, False, 0)
    except (nvrtc.CompileError, OSError, RuntimeError) as error:
        logger.warning("tq_verify: the form in CUDA is left out, and triton's serve: %s", error)
        return False
    return True


def aligned(cache: torch.Tensor) -> bool:
    """Whether the copy engine can take slots: it begins and ends at multiples of 16 bytes, as pages then do."""
    return cache.stride(0) % 16 == 0 and cache.data_ptr() % 16 == 0


def launch(query, cache, table, lens, starts, part, lse, *, plan, batch, max_query_len, scale) -> None:
    """One program a (KV head, chunk and block of rows), on the current stream."""
    if plan.splits // (2 if plan.narrow else 1) <= batch:
        raise ValueError(f"a plan of {plan.splits} chunks cannot share out {batch} sequences: plan for this batch")
    _, page_size, kv_heads, _ = cache.shape
    heads, dim = query.shape[1:]
    group = heads // kv_heads
    blocks = -(-max_query_len * group // plan.rows)
    function = _function(
        query.device.index, dim, plan.rows, group, kv_heads, page_size, cache.stride(1) // 4, cache.stride(2) // 4,
        plan.stages, blocks, plan.chunk, aligned(cache), query.dtype == torch.float16, plan.resident, plan.narrow,
    )  # fmt: skip
    pointers = [ctypes.c_void_p(one.data_ptr()) for one in (query, cache, table, lens, starts, part, lse)]
    numbers = (query.stride(0), table.stride(0), cache.stride(0) // 4, batch, plan.splits, plan.narrow_to)
    function.launch(
        (kv_heads, plan.splits * blocks, 1),
        torch.cuda.current_stream(query.device).cuda_stream,
        [*pointers, ctypes.c_float(scale / math.log(2)), *(ctypes.c_int32(number) for number in numbers)],
        early=True,
    )


def merge(lens, starts, part, lse, out, *, plan, batch, max_query_len, kv_heads) -> None:
    """One block a (query token, head), placed while the launch before it ends."""
    heads, dim = out.shape[1:]
    group = heads // kv_heads
    function = _merge_function(
        out.device.index, dim, heads, group, plan.rows, -(-max_query_len * group // plan.rows), plan.chunk,
        max_query_len, plan.parts, out.dtype == torch.float16, plan.narrow,
    )  # fmt: skip
    pointers = [ctypes.c_void_p(one.data_ptr()) for one in (part, lse, lens, starts, out)]
    function.launch(
        (batch * max_query_len, heads, plan.parts),
        torch.cuda.current_stream(out.device).cuda_stream,
        [*pointers, *(ctypes.c_int32(number) for number in (out.stride(0), batch, plan.splits, plan.narrow_to))],
        early=True,
    )


@functools.cache
def _merge_function(device, *shape) -> nvrtc.Function:
    with torch.cuda.device(device):
        return nvrtc.loaded(merge_code(*shape), "hopper_merge", 256, 0)


def merge_code(dim, heads, group, rows, blocks, chunk, max_query_len, parts, half, narrow) -> bytes:
    """The merge compiled for a shape: needs no device."""
    defines = {
        "D": dim, "HEADS": heads, "GROUP": group, "ROWS": rows, "BLOCKS": blocks, "CHUNK": chunk,
        "MAX_QUERY": max_query_len, "PARTS": parts, "HALF": int(half), "NARROW": narrow,
    }  # fmt: skip
    return nvrtc.compiled(_text(SHARE) + _text(MERGE), defines, "sm_90a")


@functools.cache
def _function(
    device, dim, rows, group, kv_heads, page, pos, head, stages, blocks, chunk, bulk, half, resident, narrow
) -> nvrtc.Function:
    binary = machine_code(
        dim, rows, group, kv_heads, page, pos, head, stages, blocks, chunk, bulk, half, resident, narrow
    )
    with torch.cuda.device(device):
        return nvrtc.loaded(binary, "hopper", THREADS, shared_bytes(dim, rows, stages))


def machine_code(
    dim, rows, group, kv_heads, page, pos, head, stages, blocks, chunk, bulk, half, resident, narrow
) -> bytes:
    """The kernel compiled for a shape: needs no device."""
    defines = {
        "D": dim, "ROWS": rows, "GROUP": group, "KV_HEADS": kv_heads, "PAGE": page, "POS": pos, "HEAD": head,
        "STAGES": stages, "BLOCKS": blocks, "CHUNK": chunk, "BULK": int(bulk), "HALF": int(half),
        "RESIDENT": resident, "NARROW": narrow,
    }  # fmt: skip
    return nvrtc.compiled(source(rows, narrow), defines, "sm_90a")
