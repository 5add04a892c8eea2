"""Probes: ask a life, and say what the answers add up to. A new kind is one file, one spec class, one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import aiohttp

from genesisd.probes.kinds.acceptance import Acceptance
from genesisd.probes.kinds.attestation import Attested
from genesisd.probes.kinds.creep import Creep
from genesisd.probes.kinds.degeneration import Degeneration
from genesisd.probes.kinds.engagement import Engagement
from genesisd.probes.kinds.generation import Generation
from genesisd.probes.kinds.golden import GoldenAnswers
from genesisd.probes.kinds.http import Http
from genesisd.probes.kinds.keep_alive import KeepAlive
from genesisd.probes.kinds.latency import Latency
from genesisd.probes.kinds.logprob_drift import LogprobDrift
from genesisd.probes.kinds.needle import NeedleLadder
from genesisd.probes.kinds.port_owner import PortOwner
from genesisd.probes.kinds.prefix_cache import PrefixCache
from genesisd.probes.kinds.process import Process
from genesisd.probes.kinds.progress import Progress
from genesisd.probes.kinds.reasoning import Reasoning
from genesisd.probes.kinds.structured_output import StructuredOutput
from genesisd.probes.kinds.tokenizer import Tokenizer
from genesisd.probes.kinds.tool_calls import ToolCalls
from genesisd.probes.ports import Probe

PROBES: Mapping[str, Callable[[Any, aiohttp.ClientSession], Probe]] = {
    "http": Http,
    "process": Process,
    "port-owner": PortOwner,
    "generation": Generation,
    "progress": Progress,
    "attestation": Attested,
    "tokenizer": Tokenizer,
    "keep-alive": KeepAlive,
    "prefix-cache": PrefixCache,
    "logprob-drift": LogprobDrift,
    "golden": GoldenAnswers,
    "tool-calls": ToolCalls,
    "structured-output": StructuredOutput,
    "reasoning": Reasoning,
    "degeneration": Degeneration,
    "needle": NeedleLadder,
    "acceptance": Acceptance,
    "latency": Latency,
    "creep": Creep,
    "engagement": Engagement,
}
"""Kind -> what makes its state for one life from its spec and the shared session."""
