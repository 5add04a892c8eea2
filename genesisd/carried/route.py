"""One group of layers that a kernel serves: how each batch is cut, the memory for it, and the launch.

A group knows two cuts of a batch, for one query token a sequence and for the most there can be: both are compiled
before the first request, and a captured graph keeps the one that it was captured with.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from genesisd.carried import scratch, trial
from genesisd.carried.operation import Operation


class Route:
    """The way of one group of layers to the kernel."""

    def __init__(self, operation: Operation, sequences: int, dtype: torch.dtype, device: torch.device) -> None:
        """Plan every batch of up to ``sequences`` and reserve memory for the largest."""
        setting = operation.setting
        self.operation, self.setting = operation, setting
        self.query_len = setting.max_query_len
        self._sequences = sequences
        self._launch = operation.launching()
        self._plans: dict[tuple[int, int, int, int], Any] = {}
        self._warm: set[tuple[object, ...]] = set()
        heads, dim = setting.query_heads, setting.layout.head_dim
        query = torch.empty(0, heads, dim, dtype=dtype, device=device)
        page = (0, setting.page_size, setting.kv_heads, setting.layout.slot_bytes)
        cache = torch.empty(page, dtype=torch.uint8, device=device)
        wanted = {"out": (sequences * self.query_len * heads * dim, dtype)}
        for batch in range(1, sequences + 1):
            for tokens in {1, self.query_len}:
                plan = self._plan(query, cache, batch, tokens)
                for name, like in self._parts(plan, batch * tokens, dtype).items():
                    count = max(like.numel(), wanted.get(name, (0,))[0])
                    wanted[name] = (count, like.dtype)
        self.reserved = scratch.reserve(device, wanted)

    @property
    def is_warm(self) -> bool:
        """Whether anything was compiled yet."""
        return bool(self._warm)

    def attend(self, query: torch.Tensor, cache: torch.Tensor, metadata: Any, scale: float) -> torch.Tensor:
        """Attention of a batch whose sequences have up to ``query_len`` new tokens each; all of them in one go."""
        tokens = 1 if metadata.max_query_len == 1 else self.query_len
        query = _aligned(query)
        self._warm_up(query, cache, metadata.block_table)
        lens, starts = metadata.seq_lens, metadata.query_start_loc
        return self._run(query, cache, metadata.block_table, lens, starts, tokens, scale)

    def _run(self, query: Any, cache: Any, table: Any, lens: Any, starts: Any, tokens: int, scale: float) -> Any:
        batch = lens.shape[0]
        plan = self._plan(query, cache, batch, tokens)
        parts = {
            name: scratch.take(query.device, name, like.shape, like.dtype)
            for name, like in self._parts(plan, query.shape[0], query.dtype).items()
        }
        whole = all(part is not None for part in parts.values())
        return self.operation.run(
            self._launch, query, cache, table, lens, starts,
            max_query_len=tokens, scale=scale, plan=plan,
            # A batch larger than was foreseen takes memory of its own; a graph that is being captured keeps it.
            scratch=self._launch.Scratch(**parts) if whole else None,
            out=scratch.take(query.device, "out", query.shape, query.dtype),
        )  # fmt: skip

    def _plan(self, query: torch.Tensor, cache: torch.Tensor, batch: int, tokens: int) -> Any:
        """The cut, asked once for a batch and for tensors that are aligned alike."""
        key = (batch, tokens, *_alignment(query))
        if key not in self._plans:
            self._plans[key] = self.operation.plan(self._launch.shape_of(query, cache, batch, tokens))
        return self._plans[key]

    def _parts(self, plan: Any, rows: int, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        """What the kernel's scratch is made of, without the memory."""
        heads, dim = self.setting.query_heads, self.setting.layout.head_dim
        query = torch.empty(rows, heads, dim, dtype=dtype, device="meta")
        found = self._launch.scratch_for(plan, query)
        return {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}

    def _warm_up(self, query: torch.Tensor, cache: torch.Tensor, table: torch.Tensor) -> None:
        """Compile for tensors that lie like these, unless that was done, or a graph is being captured."""
        # Triton compiles once more for what 16 divides; kernels count a cache's pages in words of 4 bytes, or halves.
        divisible = (table.stride(0) % 16 == 0, cache.stride(0) % self.operation.apart == 0)
        kind = (*_alignment(query), *divisible, *cache.stride()[1:])
        if kind in self._warm or _capturing(query):
            return
        lies = (cache.stride(0), cache.stride(1), cache.stride(2))
        found = self.operation.laid(lies)
        wrong = found.refusal() or trial.refuted(self._launch, found, self._sequences, query.dtype, query.device)
        if wrong is not None:
            raise RuntimeError(f"P67: {wrong}; switch it off")
        self._plans.clear()  # by now a form may have been left out
        self._warm.add(kind)
        for tokens in {1, self.query_len}:
            # One batch of each plan: nothing else of a batch chooses a kernel.
            batches = {self._plan(query, cache, batch, tokens): batch for batch in range(self._sequences, 0, -1)}
            for batch in batches.values():
                self._idle(query, cache, table, batch, tokens)

    def _idle(self, query: torch.Tensor, cache: torch.Tensor, table: torch.Tensor, batch: int, tokens: int) -> None:
        """A launch over empty sequences: it compiles, and reads nothing."""
        rows, heads, dim = batch * tokens, query.shape[1], query.shape[2]
        flat = query.new_zeros(rows, query.stride(0))[:, : heads * dim]
        pages = table.new_zeros(batch, table.stride(0))
        lens = torch.zeros(batch, dtype=torch.int32, device=query.device)
        starts = torch.arange(0, rows + 1, tokens, dtype=torch.int32, device=query.device)
        self._run(flat.unflatten(1, (heads, dim)), cache, pages, lens, starts, tokens, 1.0)


def _alignment(query: torch.Tensor) -> tuple[int, int]:
    """What of a query's place a kernel may be chosen by, and triton compiles for."""
    return query.stride(0) % 16, query.data_ptr() % 16


def _aligned(query: torch.Tensor) -> torch.Tensor:
    """The query as the kernel was tried with it: one that begins, or whose rows begin, elsewhere would get another form."""
    if query.data_ptr() % 16 or query.stride(0) * query.element_size() % 16:
        return query.clone(memory_format=torch.contiguous_format)
    return query


def _capturing(query: torch.Tensor) -> bool:
    return bool(query.is_cuda and torch.cuda.is_current_stream_capturing())
