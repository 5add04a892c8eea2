"""``genesisd``: start the daemon, or check a configuration."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import genesisd

if TYPE_CHECKING:
    from genesisd.errors import GenesisError

DEFAULT_CONFIG = Path("/etc/genesisd/genesisd.yaml")
EPILOG = """examples:
  genesisd --check-config /etc/genesisd/genesisd.yaml
  genesisd --config etc/examples/cpu.yaml --foreground --guide

Exit status: 0 ended as asked, 1 could not start or go on, 2 usage, 10 --check-config found a fault, 78 the
configuration was refused at the start: trying again without mending it is of no use."""
EXIT_CONFIG = 78
"""EX_CONFIG of sysexits.h. The unit names it in RestartPreventExitStatus."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    command = argparse.ArgumentParser(
        prog="genesisd",
        description="Keep patched vLLM workers up, and right.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("--config", type=Path, default=DEFAULT_CONFIG, metavar="FILE", help="default: %(default)s")
    command.add_argument("--check-config", type=Path, metavar="FILE", help="look at a configuration and end")
    command.add_argument(
        "--foreground",
        action="store_true",
        help="stop the workers at SIGTERM, and when the terminal closes, instead of leaving them",
    )
    command.add_argument("--guide", action="store_true", help="say what happens, and what to try once all is ready")
    command.add_argument("--version", action="version", version=f"genesisd {genesisd.__version__}")
    return command


def main() -> int:
    """The entry point. Returns the exit status."""
    hold_signals()
    options = parser().parse_args()
    if options.check_config is not None:
        return check(options.check_config)
    return run(options)


def check(path: Path) -> int:
    """Print every fault, as ``file:line: field: message``."""
    from genesisd.wiring.checking import check_file  # noqa: PLC0415 - a usage error should not cost the imports

    found = check_file(path.absolute())
    for fault in found.faults:
        print(fault.message, file=sys.stderr)  # noqa: T201
        if fault.hint:
            print(f"  hint: {fault.hint}", file=sys.stderr)  # noqa: T201
    if not found.ok:
        return 10
    count = len(found.workers)
    print(f"{path}: good, {count} worker{'' if count == 1 else 's'}")  # noqa: T201
    return 0


def run(options: argparse.Namespace) -> int:
    """Load, configure logging, run until the end."""
    from genesisd.config import load  # noqa: PLC0415
    from genesisd.errors import ConfigError, GenesisError  # noqa: PLC0415
    from genesisd.telemetry import log  # noqa: PLC0415

    try:
        config = load(options.config)
    except ConfigError as error:
        return fail(error, EXIT_CONFIG)
    try:
        end_log = log.configure(config.daemon.log.format, config.daemon.log.level)
        try:
            return asyncio.run(serve(options, config))
        except KeyboardInterrupt:
            return 0  # Ctrl-C after the end, when nobody listened to signals any more
        finally:
            end_log()
    except GenesisError as error:
        return fail(error, 1)


def fail(error: GenesisError, status: int) -> int:
    """Say why there is no daemon; returns the exit status."""
    print(f"genesisd: {error.message}", file=sys.stderr)  # noqa: T201
    if error.hint:
        print(f"  hint: {error.hint}", file=sys.stderr)  # noqa: T201
    return status


async def serve(options: argparse.Namespace, config: object) -> int:
    """Run one daemon under the process's signals."""
    from genesisd.config.root import Config  # noqa: PLC0415
    from genesisd.daemon import Daemon  # noqa: PLC0415
    from genesisd.guide import Guide  # noqa: PLC0415
    from genesisd.notify import Notifier  # noqa: PLC0415

    assert isinstance(config, Config)  # noqa: S101
    watch_children()
    daemon = Daemon(config, Notifier.from_environment())
    loop = asyncio.get_running_loop()
    hung_up = terminal_watch() if options.foreground else lambda: False
    loop.add_signal_handler(signal.SIGHUP, lambda: daemon.stop(drain=True) if hung_up() else daemon.reload_soon())
    loop.add_signal_handler(signal.SIGTERM, lambda: daemon.stop(drain=options.foreground))
    loop.add_signal_handler(signal.SIGINT, daemon.interrupt)
    guide = asyncio.create_task(Guide(daemon).run()) if options.guide else None
    try:
        await daemon.run()
    finally:
        if guide is not None:
            guide.cancel()
            await asyncio.gather(guide, return_exceptions=True)
    return 0


def hold_signals() -> None:
    """Until the daemon listens: Ctrl-C ends this process without a traceback, and a reload has nothing to reload."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, lambda *_: None)  # not SIG_IGN, which children would inherit


def terminal_watch() -> Callable[[], bool]:
    """Tells whether the terminal that there is now has gone: SIGHUP then means the end, else a reload."""
    terminals = [fd for fd in range(3) if os.isatty(fd)]
    return lambda: bool(terminals) and not any(os.isatty(fd) for fd in terminals)


def watch_children() -> None:
    """Wait for children by pidfd: the default watcher of Python 3.11 costs a thread a child. Later ones do so anyway."""
    if sys.version_info < (3, 12):
        watcher = asyncio.PidfdChildWatcher()
        # The policy attaches a watcher to loops that come later; without one, no child can be started at all.
        watcher.attach_loop(asyncio.get_running_loop())
        asyncio.set_child_watcher(watcher)


if __name__ == "__main__":
    sys.exit(main())
