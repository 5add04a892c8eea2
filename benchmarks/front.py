"""What the front costs, beside no front and beside HAProxy (where installed), in one run and in ABBA order.

python benchmarks/front.py [--rounds 6] [--requests 1500]

Prints one table: added time to the first byte (median), throughput as ratios, memory.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from genesisd.front.link import Fronts
from genesisd.units import Address

HERE = Path(__file__).parent
HAPROXY = """
global
  nbthread 1
defaults
  mode http
  timeout connect 5s
  timeout client 600s
  timeout server 600s
  option abortonclose
frontend f
  bind 127.0.0.1:{port}
  default_backend b
backend b
  http-reuse never
  server s 127.0.0.1:{engine}
"""


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def connect(port):
    sock = socket.create_connection(("127.0.0.1", port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def request(path):
    return b"GET %s HTTP/1.1\r\nHost: x\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n" % path


def kept_alive(port, count):
    """Milliseconds to the first byte on one connection."""
    times = []
    with connect(port) as sock:
        for _ in range(count):
            begin = time.perf_counter()
            sock.sendall(request(b"/small"))
            sock.recv(4096)
            times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


def new_connections(port, count):
    """Milliseconds from connect to the first byte, a connection each."""
    times = []
    for _ in range(count // 3):
        begin = time.perf_counter()
        with connect(port) as sock:
            sock.sendall(request(b"/small"))
            sock.recv(4096)
            times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


def stream(port, path):
    """Seconds for a whole stream."""
    with connect(port) as sock:
        begin = time.perf_counter()
        sock.sendall(request(path))
        tail = b""
        while not tail.endswith(b"\r\n0\r\n\r\n"):
            block = sock.recv(1 << 20)
            assert block, "stream ended short"
            tail = (tail + block)[-8:] if len(block) < 8 else block[-8:]
        return time.perf_counter() - begin


MEASURES = {
    "first byte, kept alive (ms)": kept_alive,
    "first byte, new connection (ms)": new_connections,
    "bulk stream (MB/s)": lambda port, _: 256 * 1.048576 / stream(port, b"/bulk/256"),
    "events (1000/s)": lambda port, _: 20 / stream(port, b"/events/20000"),
}


def pss(pid):
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def wait_for(port):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            connect(port).close()
            return
        time.sleep(0.02)
    raise SystemExit(f"nothing listens on {port}")


@contextlib.contextmanager
def process(argv):
    child = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    try:
        yield child.pid
    finally:
        child.terminate()
        child.wait()


def measure(ports, rounds, count):
    order = [*ports, *reversed(ports)]
    results = {name: {path: [] for path in ports} for name in MEASURES}
    for _ in range(rounds):
        for name, take in MEASURES.items():
            for path in order:
                results[name][path].append(take(ports[path], count))
    return results


def show(results, ports, memory):
    table = {name: {path: statistics.median(runs) for path, runs in by.items()} for name, by in results.items()}
    print("| measure | " + " | ".join(ports) + " |\n|---|" + "---|" * len(ports))
    for name, row in table.items():
        base = row["direct"]
        cells = [
            f"{value:.3f} ({value - base:+.3f} ms)" if "ms" in name else f"{value:.0f} (x{value / base:.2f})"
            for value in row.values()
        ]
        print(f"| {name} | " + " | ".join(cells) + " |")
    print(
        "| memory (PSS, MiB) | " + " | ".join(f"{memory[path]:.1f}" if path in memory else "" for path in ports) + " |"
    )


async def run(rounds, requests):
    """Samples by measure and path, PSS by path afterwards, PSS while idle."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ports, pids = {"direct": free_port()}, {}
        stack.enter_context(process([sys.executable, str(HERE / "front_engine.py"), str(ports["direct"])]))
        ports["front"] = free_port()
        fronts = Fronts(folder)
        await fronts.ensure("bench", Address(host="127.0.0.1", port=ports["front"]), 30.0, 512)
        await fronts.open("bench", "127.0.0.1", ports["direct"], 1)
        pids["front"] = fronts.pid("bench")
        if haproxy := shutil.which("haproxy"):
            ports["haproxy"] = free_port()
            config = folder / "haproxy.cfg"
            config.write_text(HAPROXY.format(port=ports["haproxy"], engine=ports["direct"]))
            pids["haproxy"] = stack.enter_context(process([haproxy, "-db", "-f", str(config)]))
        try:
            for port in ports.values():
                wait_for(port)
            idle = {path: pss(pid) for path, pid in pids.items()}
            results = await asyncio.to_thread(measure, ports, rounds, requests)
            return results, {path: pss(pid) for path, pid in pids.items()}, idle
        finally:
            await fronts.shutdown()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--requests", type=int, default=1500)
    options = parser.parse_args()
    results, memory, idle = asyncio.run(run(options.rounds, options.requests))
    show(results, list(results["events (1000/s)"]), memory)
    print("\nidle PSS (MiB): " + ", ".join(f"{path} {value:.1f}" for path, value in idle.items()))


if __name__ == "__main__":
    main()
