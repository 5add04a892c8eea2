"""The command line: vLLM's own flags that supervisors add, and the shapes, lives and faults of the fake."""

import argparse

WORDS = "one two three four five six seven eight"


def parse(argv: list[str], description: str) -> argparse.Namespace:
    """The flags; unknown ones end in status 2 as with vLLM."""
    p = argparse.ArgumentParser(
        prog="vllm", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("words", nargs="*", help="'serve MODEL', ignored")
    p.add_argument("--host", default="127.0.0.1")
    p.add_argument("--port", type=int, default=0, help="0: a free one, printed as 'running on http://...'")
    p.add_argument("--reuse-port", action="store_true", help="SO_REUSEPORT: a second owner may share the port")
    p.add_argument("--served-model-name", default="tiny")
    p.add_argument("--max-model-len", type=int, default=1024)
    p.add_argument("--max-num-seqs", type=int, default=256)
    p.add_argument("--answer", default=WORDS, help="the words that every generation says")
    p.add_argument("--control", help="JSON file of faults, read again for each request")
    _demo(p)
    _shape(p)
    _life(p)
    _faults(p)
    return p.parse_args(argv)


def _demo(p: argparse.ArgumentParser) -> None:
    demo = p.add_argument_group("answers", "With --demo it says what the demo model says on the real server.")
    demo.add_argument("--demo", action="store_true", help="answer as genesisd/demo/tiny does, and refuse as vLLM does")
    demo.add_argument("--tool-call-parser", choices=["hermes", "qwen3_coder"])
    demo.add_argument("--enable-auto-tool-choice", action="store_true")
    demo.add_argument("--reasoning-parser", choices=["qwen3"])
    demo.add_argument("--chat-template", help="qwen3_coder in its name: calls in tags; default: as the tool parser")
    demo.add_argument("--enable-prompt-tokens-details", action="store_true", help="usage names cached tokens")
    demo.add_argument("--no-enable-prefix-caching", dest="prefix_caching", action="store_false")
    demo.add_argument("--enable-prefix-caching", dest="prefix_caching", action="store_true", default=True)
    demo.add_argument("--speculative-config", metavar="JSON", help="counters of drafts and of what is accepted")
    for ignored in ("--seed", "--dtype", "--gpu-memory-utilization", "--tensor-parallel-size", "--kv-cache-dtype"):
        demo.add_argument(ignored, help=argparse.SUPPRESS)
    demo.add_argument("--enforce-eager", action="store_true", help=argparse.SUPPRESS)


def _shape(p: argparse.ArgumentParser) -> None:
    tree = p.add_argument_group("shape")
    tree.add_argument("--workers", type=int, default=1)
    tree.add_argument("--setsid-workers", action="store_true", help="workers leave the leader's session")
    tree.add_argument("--double-fork-worker", action="store_true", help="one more worker, reparented away")
    tree.add_argument("--clinging-workers", action="store_true", help="workers outlive EngineCore")
    tree.add_argument("--bare", action="store_true", help="the leader alone; the engine is a thread")
    tree.add_argument("--no-server", action="store_true", help="no port, no engine: wait for a signal")
    tree.add_argument("--shm", type=int, default=0, metavar="N", help="N psm_ and sem.mp- files, tracker removes them")


def _life(p: argparse.ArgumentParser) -> None:
    life = p.add_argument_group("life")
    life.add_argument("--boot-seconds", type=float, default=0.0)
    life.add_argument("--boot-log-every", type=float, default=0.0, metavar="S")
    life.add_argument("--boot-burn", action="store_true", help="use CPU time while booting")
    life.add_argument("--hang-at-boot", action="store_true")
    life.add_argument("--boot-error", metavar="TEXT", help="log TEXT after boot-seconds and end with --exit-code")
    life.add_argument("--die-after", type=float, metavar="S", help="end with --exit-code S seconds after exec")
    life.add_argument("--die-signal", type=int, metavar="N", help="--die-after ends by this signal instead")
    life.add_argument("--exit-code", type=int, default=1)
    life.add_argument("--ignore-term", action="store_true")
    life.add_argument("--term-delay", "--shutdown-timeout", type=float, default=0.0, metavar="S",
                      help="SIGTERM waits this long for requests in flight")  # fmt: skip
    life.add_argument("--linger", type=float, default=0.0, metavar="S", help="SIGTERM takes this long in any case")
    life.add_argument("--on-engine-death", choices=["exit", "503", "200"], default="exit",
                      help="exit 0 as vLLM does, or stay and give this /health status")  # fmt: skip
    life.add_argument("--die-on-engine-death", dest="on_engine_death", action="store_const", const="exit")


def _faults(p: argparse.ArgumentParser) -> None:
    faults = p.add_argument_group("faults")
    faults.add_argument("--vram-ledger", metavar="DIR", help="each worker holds a locked entry here")
    faults.add_argument("--vram-bytes", type=int, default=1 << 30)
    faults.add_argument("--gpus", type=lambda text: [int(one) for one in text.split(",")], default=[0], metavar="0,1")
    faults.add_argument("--stuck-counters", action="store_true", help="token counters never move")
    faults.add_argument("--prefill-blocks", type=float, default=0.0, metavar="S",
                        help="a prompt of --prefill-min-tokens prefills for S seconds, moving only the KV gauge")  # fmt: skip
    faults.add_argument("--prefill-min-tokens", type=int, default=32)
    faults.add_argument("--token-delay", type=float, default=0.0, metavar="S")
    faults.add_argument("--log-flood", type=int, default=0, metavar="BYTES", help="write this much log once ready")
    faults.add_argument("--no-load-tracking", dest="load_tracking", action="store_false", help="/load says 0")
    faults.add_argument("--enable-server-load-tracking", dest="load_tracking", action="store_true")
