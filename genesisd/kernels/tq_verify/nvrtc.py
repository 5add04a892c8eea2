"""Device code compiled by the library that torch brings along, and its launches, by the driver's own calls.

For what triton cannot say: operands of warp-group products straight from memory's own layout.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import pathlib
from dataclasses import dataclass
from typing import Any

SHARED_LIMIT = 8
"""The driver's number for a function's limit of dynamic shared memory."""
EARLY = 6
"""The driver's number for a launch that may be placed before the grid ahead of it has ended."""


class Attribute(ctypes.Structure):
    """The driver's CUlaunchAttribute."""

    _fields_ = (("kind", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_int), ("rest", ctypes.c_char * 60))


class Config(ctypes.Structure):
    """The driver's CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(Attribute)),
        ("count", ctypes.c_uint),
    )


class CompileError(RuntimeError):
    """The device code was refused; the message holds the compiler's log."""


@functools.cache
def library() -> ctypes.CDLL | None:
    """NVRTC of torch's own CUDA, or None where there is none."""
    for path in _places():
        try:
            return opened(path)
        except OSError:
            continue
    return None


def opened(path: pathlib.Path) -> ctypes.CDLL:
    """The compiler, and first the file that it looks for by name alone.

    Raises:
        OSError: there is no such library.
    """
    for built_in in sorted(path.parent.glob("libnvrtc-builtins.so.*")):
        ctypes.CDLL(str(built_in))
    return ctypes.CDLL(str(path))


def _places() -> list[pathlib.Path]:
    import torch

    name = f"libnvrtc.so.{(torch.version.cuda or '13').split('.')[0]}"
    packages = importlib.util.find_spec("nvidia")
    roots = [] if packages is None else [pathlib.Path(root) for root in packages.submodule_search_locations or ()]
    found = [path for root in roots for path in sorted(root.glob(f"*/lib/{name}"))]
    return [*found, pathlib.Path("/usr/local/cuda/lib64") / name, pathlib.Path(name)]


def compiled(source: str, defines: dict[str, int], architecture: str, nvrtc: ctypes.CDLL | None = None) -> bytes:
    """Machine code of `source` for an architecture such as sm_90a.

    Raises:
        CompileError: there is no compiler, or it refuses.
    """
    nvrtc = nvrtc or library()
    if nvrtc is None:
        raise CompileError("libnvrtc was not found beside torch")
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None)
    options = [f"--gpu-architecture={architecture}", *(f"-D{name}={value}" for name, value in defines.items())]
    values = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    failed = nvrtc.nvrtcCompileProgram(program, len(options), values)
    try:
        if failed:
            raise CompileError(_bytes(nvrtc, program, "ProgramLog").decode(errors="replace"))
        return _bytes(nvrtc, program, "CUBIN")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _bytes(nvrtc: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
    return buffer.raw


@dataclass(frozen=True)
class Function:
    """A kernel on one device."""

    handle: ctypes.c_void_p
    threads: int
    shared_bytes: int

    def launch(self, grid: tuple[int, int, int], stream: int, arguments: list[Any], *, early: bool = False) -> None:
        """Queue it on a stream; captured if the stream is being captured.

        ``early``: its blocks may be placed while the grid ahead still runs, for whose end they wait themselves.
        """
        pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(one) for one in arguments))
        attribute = Attribute(EARLY, 0, 1)
        config = Config(
            grid, (self.threads, 1, 1), self.shared_bytes, stream, ctypes.pointer(attribute), 1 if early else 0
        )
        _checked(_driver().cuLaunchKernelEx(ctypes.byref(config), self.handle, pointers, None), "cuLaunchKernelEx")


def loaded(binary: bytes, name: str, threads: int, shared_bytes: int) -> Function:
    """A kernel out of machine code, on the current device."""
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    _checked(_driver().cuModuleLoadData(ctypes.byref(module), binary), "cuModuleLoadData")
    _checked(_driver().cuModuleGetFunction(ctypes.byref(function), module, name.encode()), "cuModuleGetFunction")
    _checked(_driver().cuFuncSetAttribute(function, SHARED_LIMIT, shared_bytes), "cuFuncSetAttribute")
    return Function(function, threads, shared_bytes)


@functools.cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def _checked(result: int, call: str) -> None:
    if result:
        raise RuntimeError(f"{call} said {result}")
