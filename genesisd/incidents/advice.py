"""What a person on call can do, for each cause. Pure data and the choice between its lines."""

from __future__ import annotations

from genesisd.incidents.facts import WorkerFacts
from genesisd.incidents.model import Incident

BY_CAUSE = {
    "host-oom": "give the machine (or its cgroup) more memory or let other programs take less; if it gave up, start it again with genesisctl workers reset {worker}",
    "cuda-oom": "lower gpu_memory_utilization, max_model_len or max_num_seqs in its configuration, then genesisctl reload",
    "illegal-memory-access": "see the stacks in genesisctl incidents show {id}; if it comes back, start it without its newest patch, then genesisctl reload",
    "cuda-error": "look at the card with nvidia-smi; a card that fails again needs a reset or a reboot",
    "xid": "look up the Xid, then reset the card (nvidia-smi --gpu-reset) or reboot the machine",
    "nccl": "look at the links between its cards with nvidia-smi topo -m, and see genesisctl logs {worker}",
    "kv-too-small": "lower max_model_len or give the KV cache more memory in its configuration, then genesisctl reload",
    "kv-too-large": "free the memory or ask for less of it in its configuration, then genesisctl reload",
    "engine-dead": "read what stands above the end in genesisctl logs {worker} and in genesisctl incidents show {id}",
    "hung": "see where it stood (stacks.txt) with genesisctl incidents show {id}",
    "port-taken": "end what holds the port, or give the worker another one in its configuration, then genesisctl reload",
    "bad-config": "mend the setting in its configuration, then genesisctl config check and genesisctl reload",
    "bad-weights": "fetch the model's weights again, then genesisctl workers reset {worker}",
    "bad-model": "mend the name or the folder of its model in the configuration, then genesisctl reload",
    "bad-environment": "build its pin again with genesisctl pins build, then genesisctl workers reset {worker}",
    "bad-build": "see what its patches come to with genesisctl patches attest {worker}; then genesisctl workers restart {worker}",
    "garbage-output": "ask it again with genesisctl replay {id} --worker {worker}, and see genesisctl probes list {worker}",
    "orphaned-vram": "end the process that is named if it is nobody's; the worker starts by itself when the memory is free",
    "unkillable": "reset the card or reboot the machine; then genesisctl workers start {worker}",
    "start-timeout": "see how far it came with genesisctl logs {worker}; a slow disk needs a longer start deadline",
    "startup-wedged": "see what it does instead with genesisctl incidents show {id} and genesisctl logs {worker}",
    "killed": "find out who killed it (the system's log tells of kills by systemd); if it gave up, start it again with genesisctl workers reset {worker}",
    "crash": "read its last words in genesisctl logs {worker} and genesisctl incidents show {id}",
    "unknown": "see genesisctl incidents show {id} and genesisctl probes list {worker}",
}
"""In the imperative, with the commands to type."""


def of_incident(facts: WorkerFacts, incident: Incident) -> str:
    """What to do about one that goes on."""
    if facts.cards:
        card = facts.cards[0]
        return f"reset that card or reboot the machine, then genesisctl quarantine release card {card}"
    if facts.patches:
        patch = facts.patches[0]
        return f"mend the patch, then let it be used again with genesisctl quarantine release patch {patch} --worker {facts.name}"
    if facts.instead_of and facts.phase == "ready":
        return f"ask again with genesisctl replay {incident.id} --worker {facts.name}; try {facts.instead_of} anew with genesisctl workers reset {facts.name}"
    if facts.phase == "failed" and incident.cause == "garbage-output":
        return (
            f"look at its model and weights; if the new answers are right, genesisctl workers start {facts.name} and"
            f" genesisctl probes record-golden {facts.name}"
        )
    return BY_CAUSE[incident.cause].format(worker=facts.name, id=incident.id)


def of_phase(facts: WorkerFacts) -> str:
    """What to do where there is no incident."""
    name = facts.name
    return {
        "ready": "nothing is to be done",
        "stopped": f"start it with genesisctl workers start {name}",
        "failed": f"mend that, then genesisctl workers reset {name}",
        "blocked": "it starts by itself when that is over (genesisctl status shows how far it is)",
        "degraded": f"see what is bad with genesisctl probes list {name}",
    }.get(facts.phase, f"nothing is to be done (genesisctl logs {name} -f shows it at work)")
