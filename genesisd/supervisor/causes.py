"""THE table of causes of death: which words betray which cause, with a line that was really written. Pure data.

The first rule that finds its line wins, so a root cause stands before what follows from it. Lines are matched without
colours, without the prefixes of processes and of vLLM's log, and only where they are no INFO or DEBUG of the log:
what is logged of requests holds the words of users. A new rule is one entry; its sample is its test.
"""

from __future__ import annotations

from dataclasses import dataclass

CPU = "vLLM 0.32.0 (CPU), "
VLLM = "https://github.com/vllm-project/vllm/issues/"


@dataclass(frozen=True, slots=True)
class Rule:
    """A cause and the line that betrays it.

    Attributes:
        cause: one of the causes of incidents.
        pattern: of a line.
        text: the sentence for people, the groups of the match filled in.
        sample: a line that was really written.
        source: how the sample was had: what was started with which fault, or a link.
        permanent: trying again cannot help until somebody changes something.
        starting: only while it had not begun to serve: the same words in a later log mean something else.
        code: only with this exit status.
    """

    cause: str
    pattern: str
    text: str
    sample: str
    source: str
    permanent: bool = False
    starting: bool = False
    code: int | None = None


RULES = (
    Rule(
        "bad-config",
        r"error: (unrecognized arguments: .+)",
        "the command line was refused: {0}",
        "vllm: error: unrecognized arguments: --no-such-flag",
        CPU + "--no-such-flag",
        permanent=True,
        code=2,
    ),
    Rule(
        "bad-config",
        r"error: (argument .+)",
        "the command line was refused: {0}",
        "vllm serve: error: argument --port: invalid int value: 'x'",
        CPU + "--port x",
        permanent=True,
        code=2,
    ),
    Rule(
        "bad-config",
        r"error: (.+)",
        "the command line was refused: {0}",
        "vllm serve: error: the following arguments are required: --served-model-name",
        "argparse of Python's library",
        permanent=True,
        code=2,
    ),
    Rule(
        "bad-config",
        r"^KeyError: ['\"](?:.*')?(invalid (?:tool call|reasoning) parser: [^\s'\"]+)",
        "{0}",
        "KeyError: 'invalid tool call parser: nosuch (chose from { apertus,cohere_command3,hermes })'",
        CPU + "--enable-auto-tool-choice --tool-call-parser nosuch",
        permanent=True,
    ),
    Rule(
        "bad-config",
        r"^KeyError: ['\"](Reasoning parser '[^']*' not found)",
        "{0}",
        "KeyError: \"Reasoning parser 'nosuch' not found. Available parsers: cohere_command3, cohere_command4\"",
        CPU + "--reasoning-parser nosuch",
        permanent=True,
        starting=True,
    ),
    # Not permanent: the next try meets the port's gate, which waits for a port that is given and passes over others.
    Rule(
        "port-taken",
        r"^OSError: \[Errno 98\] (Address already in use.*)",
        "its port is taken: {0}",
        "OSError: [Errno 98] Address already in use",
        CPU + "a listener on its port",
        starting=True,
    ),
    Rule(
        "kv-too-large",
        r"(Available memory on node .* less than requested memory for kv.*)",
        "the KV cache does not fit into memory: {0}",
        (
            "ValueError: Available memory on node 0 (16.01/18.59 GiB) on kv cache allocation is less than requested"
            " memory for kv (100.0 GiB)"
        ),
        CPU + "VLLM_CPU_KVCACHE_SPACE=100",
        permanent=True,
        starting=True,
    ),
    Rule(
        "kv-too-large",
        r"(Free memory on device .* is less than desired GPU memory utilization.*)",
        "the wanted share of the card is not free: {0}",
        (
            "(EngineCore_DP0 pid=17374) ERROR 09-28 15:47:24 [core.py:718] ValueError: Free memory on device (3.22/4.0"
            " GiB) on startup is less than desired GPU memory utilization (0.9, 3.6 GiB). Decrease GPU memory"
            " utilization or reduce GPU memory used by other processes."
        ),
        VLLM + "25837",
        starting=True,
    ),
    Rule(
        "kv-too-small",
        r"(No available memory for the cache blocks.*)",
        "no memory is left for the KV cache: {0}",
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.",
        CPU + "--kv-cache-memory-bytes 65536",
        permanent=True,
        starting=True,
    ),
    Rule(
        "kv-too-small",
        r"(To serve at least one request with .* KV cache is needed.*)",
        "the KV cache is too small for one request: {0}",
        (
            "(EngineCore_DP0 pid=1094) ValueError: To serve at least one request with the models's max seq len (262144),"
            " (24.0 GiB KV cache is needed, which is larger than the available KV cache memory (3.18 GiB)."
        ),
        VLLM + "34076",
        permanent=True,
        starting=True,
    ),
    Rule(
        "kv-too-small",
        r"(The model's max seq len \(\d+\) is larger than the maximum number of tokens that can be stored in KV cache.*)",
        "the KV cache is too small for one request: {0}",
        (
            "ValueError: The model's max seq len (4096) is larger than the maximum number of tokens that can be stored"
            " in KV cache (3664). Try increasing `gpu_memory_utilization` or decreasing `max_model_len`"
        ),
        VLLM + "2418",
        permanent=True,
        starting=True,
    ),
    Rule(
        "bad-weights",
        r"(SafetensorError: .+)",
        "a weight file cannot be read: {0}",
        (
            "(Worker pid=9) safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata,"
            " file not fully covered"
        ),
        CPU + "a model.safetensors that is cut in half",
        permanent=True,
        starting=True,
    ),
    Rule(
        "bad-weights",
        r"^(OverflowError: cannot fit 'int' into an index-sized integer.*)",
        "a weight file has no header that can be read: {0}",
        "OverflowError: cannot fit 'int' into an index-sized integer",
        CPU + "a model.safetensors of 100 bytes 0xff",
        permanent=True,
        starting=True,
    ),
    Rule(
        "bad-weights",
        r"^RuntimeError: (The size of tensor a \(\d+\) must match the size of tensor b .*)",
        "the weights do not fit the model's configuration: {0}",
        (
            "(Worker pid=16013) ERROR 11-30 10:17:18 [multiproc_executor.py:953] RuntimeError: The size of tensor a (256)"
            " must match the size of tensor b (128) at non-singleton dimension 1"
        ),
        CPU + "a config.json with twice the hidden_size of the weights",
        permanent=True,
        starting=True,
    ),
    Rule(
        "bad-weights",
        r"(Cannot find any model weights with .+)",
        "the weights are missing: {0}",
        "RuntimeError: Cannot find any model weights with `/models/empty`",
        CPU + "a model's folder without its weights",
        permanent=True,
        starting=True,
    ),
    Rule(
        "bad-model",
        r"(HFValidationError: .+)",
        "the model was not found: {0}",
        "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name': '/models/nosuch'.",
        CPU + "a model's folder that is not there",
        permanent=True,
        starting=True,
    ),
    Rule(
        "bad-model",
        r"(LocalEntryNotFoundError: .+)",
        "the model was not found: {0}",
        "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find an appropriate cached snapshot folder",
        CPU + "HF_HUB_OFFLINE=1 and a model that was never fetched",
        permanent=True,
        starting=True,
    ),
    Rule(
        "bad-model",
        r"((?:RepositoryNotFound|GatedRepo|RevisionNotFound)Error: .+)",
        "the model was not found: {0}",
        "huggingface_hub.errors.RepositoryNotFoundError: 401 Client Error. (Request ID: Root=1-68a1df1f)",
        "https://github.com/boson-ai/higgs-audio/issues/123",
        permanent=True,
        starting=True,
    ),
    Rule(
        "bad-model",
        r"(Model architectures .*? are not supported[^.]*)",
        "{0}",
        "  Value error, Model architectures ['NoSuchForCausalLM'] are not supported for now. Supported: x",
        CPU + "a config.json that names another architecture",
        permanent=True,
        starting=True,
    ),
    Rule(
        "cuda-oom",
        r"^(?:[\w.]+\.)?\w*Error: (?:Worker failed with error ')?(CUDA out of memory\..*|CUDA error: out of memory.*|HIP out of memory\..*)",
        "the card ran out of memory: {0}",
        (
            "(EngineCore pid=229) ERROR 04-19 12:21:04 [core.py:1134] torch.OutOfMemoryError: CUDA out of memory. Tried"
            " to allocate 72.00 MiB. GPU 0 has a total capacity of 31.33 GiB of which 2.56 MiB is free."
        ),
        "https://github.com/Sandermage/genesis-vllm-patches/issues/1",
    ),
    Rule(
        "illegal-memory-access",
        r"^(?:[\w.]+\.)?\w*Error: (?:Worker failed with error ')?(CUDA error: an illegal memory access was encountered.*|CUDA error: misaligned address.*)",
        "a kernel touched memory that is not its own: {0}",
        (
            "(Worker_PP0 pid=23220) ERROR 07-15 21:01:01 [multiproc_executor.py:1007] torch.AcceleratorError: CUDA"
            " error: an illegal memory access was encountered"
        ),
        "https://github.com/SystemPanic/vllm-windows/issues/72",
    ),
    Rule(
        "nccl",
        r"^(?:[\w.]+\.)?\w*Error: (?:.*\b)?(NCCL error.*)",
        "the cards could not speak to each other: {0}",
        (
            "(VllmWorkerProcess pid=236) ERROR 08-23 08:25:25 multiproc_worker_utils.py:226] RuntimeError: NCCL error:"
            " unhandled system error (run with NCCL_DEBUG=INFO for details)"
        ),
        VLLM + "7800",
    ),
    Rule(
        "nccl",
        r"^\[rank\d+\]:?\[?.*(Watchdog caught collective operation timeout.*)",
        "the cards could not speak to each other: {0}",
        (
            "[rank0]:[E ProcessGroupNCCL.cpp:563] [Rank 0] Watchdog caught collective operation timeout:"
            " WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=134217728, NumelOut=134217728, Timeout(ms)=600000) ran for"
            " 600059 milliseconds before timing out."
        ),
        VLLM + "6042",
    ),
    Rule(
        "cuda-error",
        r"^(?:[\w.]+\.)?\w*Error: (?:Worker failed with error ')?(CUDA error: .+|CUDA driver error: .+|No CUDA GPUs are available.*)",
        "the card failed: {0}",
        (
            "(EngineCore pid=339) ERROR 08-19 10:11:55 [core.py:1348] torch.AcceleratorError: CUDA error: device-side"
            " assert triggered"
        ),
        "https://github.com/vllm-project/vllm/pull/52816",
    ),
    Rule(
        "host-oom",
        r"^(?:[\w.]+\.)?RuntimeError: .*(DefaultCPUAllocator: (?:can't allocate|not enough) memory.*)",
        "the machine ran out of memory: {0}",
        (
            "ERROR 10-06 00:29:54 [engine.py:506] RuntimeError: [enforce fail at alloc_cpu.cpp:119] err == 0."
            " DefaultCPUAllocator: can't allocate memory: you tried to allocate 4398046511104 bytes. Error code 12"
        ),
        "https://github.com/tenstorrent/tt-metal/issues/30225",
    ),
    Rule(
        "host-oom",
        r"^(?:numpy\.\S*)?((?:\w*MemoryError)\b.*|OSError: \[Errno 12\] Cannot allocate memory.*)",
        "the machine ran out of memory: {0}",
        "OSError: [Errno 12] Cannot allocate memory",
        "Python's words for ENOMEM, by a fork under RLIMIT_AS",
    ),
    Rule(
        "bad-environment",
        r"^((?:ModuleNotFoundError|ImportError): .+)",
        "its environment lacks something: {0}",
        "(EngineCore pid=2226) ModuleNotFoundError: No module named 'flashinfer'",
        CPU + "--attention-backend FLASHINFER",
        permanent=True,
        starting=True,
    ),
    Rule(
        "bad-config",
        r"^\s*Value error, (.+)",
        "a setting was refused: {0}",
        (
            "  Value error, User-specified max_model_len (999999) is greater than the derived max_model_len"
            " (max_position_embeddings=2048 or model_max_length=None in model's config.json)."
        ),
        CPU + "--max-model-len 999999",
        permanent=True,
        starting=True,
    ),
    Rule(
        "hung",
        r"^TimeoutError: (RPC call to \w+ timed out.*)",
        "a worker process did not answer its engine: {0}",
        "(EngineCore pid=8) ERROR 11-30 04:02:38 [core.py:1134] TimeoutError: RPC call to execute_model timed out.",
        CPU + "SIGSTOP to its Worker, VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=10",
    ),
    Rule(
        "engine-dead",
        r"^(?:[\w.]+\.)?(EngineDeadError.*)|^(?:\[shutdown\] )?(?:MPClient: )?(engine core exited unexpectedly.*)",
        "its engine died: {0}",
        (
            "(APIServer pid=29947) WARNING 11-30 10:11:51 [core_client.py:817] [shutdown] MPClient: engine core exited"
            " unexpectedly; starting cleanup"
        ),
        CPU + "SIGKILL to its EngineCore",
    ),
)
