# ruff: noqa: E731, PLC0415, PLW1510, SLF001 - timed lambdas; peers are imported only where they are measured
"""Round trip of the control socket, beside supervisord's and circus's, and the wall time of genesisctl.

    python -m benchmarks.control [--json] [--workers 100] [--rounds 500] [--no-peers]

Ours: a server process (uvloop, as in the daemon) whose Api answers for N workers; the client is genesisd's own, in
this process, on one kept connection. "bytes" is until the whole answer is read, "parsed" includes json.loads. Every
tenth round one worker's view changes. The peers are asked for the state of the same number of programs through
their own clients; theirs are real processes (sleep), which costs them nothing while they are asked.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
BIN = Path(sys.executable).parent


def server(path: str, workers: int) -> None:
    import asyncio

    import uvloop

    from genesisd.control.server import ControlServer
    from tests.fakes.control_api import FakeApi, FixedClock, ready_worker

    async def main() -> None:
        api = FakeApi(*(ready_worker(f"worker-{n}") for n in range(workers)))
        await ControlServer(api, Path(path), FixedClock()).start()
        turn = 0
        while True:
            await asyncio.sleep(0.01)
            name = f"worker-{turn % workers}"
            api.views[name] = ready_worker(name, incarnation=turn)
            turn += 1

    uvloop.run(main())


def figures(name: str, samples: list[float]) -> dict[str, object]:
    ordered = sorted(samples)
    p99 = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    return {"what": name, "p50_ms": round(median(ordered) * 1000, 3), "p99_ms": round(p99 * 1000, 3), "n": len(ordered)}


def timed(ask, rounds: int) -> list[float]:
    for _ in range(max(3, rounds // 20)):
        ask()
    samples = []
    for _ in range(rounds):
        begin = time.perf_counter()
        ask()
        samples.append(time.perf_counter() - begin)
    return samples


def wait_until(check, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            if check():
                return
        except Exception as problem:
            last = problem
        else:
            last = None
        if time.monotonic() > end:
            raise TimeoutError(f"not up: {last}")
        time.sleep(0.05)


@contextmanager
def child(argv, **kwargs):
    process = subprocess.Popen(argv, **kwargs)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def ours(folder: Path, workers: int, rounds: int) -> list[dict[str, object]]:
    from genesisd.control.client import Client

    path = folder / "c.sock"
    with child([sys.executable, __file__, "--serve", str(path), "--workers", str(workers)]):
        wait_until(path.exists)
        with Client(path) as client:
            raw = lambda: client._send("GET", "/v1/status", None, 5).read()
            size = len(raw())
            found = [
                figures("genesisd version", timed(client.version, rounds)),
                figures(f"genesisd status, {workers} workers, bytes ({size // 1024} KiB)", timed(raw, rounds)),
                figures(f"genesisd status, {workers} workers, parsed", timed(client.status, rounds)),
                figures("genesisd one worker, parsed", timed(lambda: client.worker("worker-1"), rounds)),
            ]
        env = os.environ | {"GENESISD_SOCKET": str(path)}
        run = lambda *argv: subprocess.run(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        turns = max(10, rounds // 20)
        found += [
            figures("python -c pass", timed(lambda: run(sys.executable, "-c", "pass"), turns)),
            figures(f"genesisctl status, {workers} workers", timed(lambda: run(str(BIN / "genesisctl"), "status"), turns)),
            figures("genesisctl status --json", timed(lambda: run(str(BIN / "genesisctl"), "status", "--json"), turns)),
            figures("genesisctl version", timed(lambda: run(str(BIN / "genesisctl"), "version"), turns)),
            figures("genesisctl workers show", timed(lambda: run(str(BIN / "genesisctl"), "workers", "show", "worker-1"), turns)),
        ]  # fmt: skip
    return found


def supervisord(folder: Path, workers: int, rounds: int) -> list[dict[str, object]]:
    import xmlrpc.client

    from supervisor.xmlrpc import SupervisorTransport

    path = folder / "s.sock"
    conf = folder / "s.conf"
    conf.write_text(
        f"[unix_http_server]\nfile={path}\n[supervisord]\nnodaemon=true\nlogfile=/dev/null\nlogfile_maxbytes=0\n"
        f"pidfile={folder}/s.pid\nminfds=1024\n[rpcinterface:supervisor]\n"
        "supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface\n"
        f"[program:w]\ncommand=sleep 1000\nnumprocs={workers}\nprocess_name=w%(process_num)d\n"
        "stdout_logfile=NONE\nstderr_logfile=NONE\nstartsecs=0\n"
    )
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with child([str(BIN / "supervisord"), "-c", str(conf)], **quiet):
        connect = lambda: xmlrpc.client.ServerProxy(
            "http://127.0.0.1", transport=SupervisorTransport(None, None, f"unix://{path}")
        )
        # A connection that failed once is of no more use to xmlrpc.
        wait_until(lambda: all(one["statename"] == "RUNNING" for one in connect().supervisor.getAllProcessInfo()))
        proxy = connect()
        run = lambda: subprocess.run([str(BIN / "supervisorctl"), "-s", f"unix://{path}", "status"], **quiet)
        found = [
            figures("supervisord version", timed(proxy.supervisor.getSupervisorVersion, rounds // 2)),
            figures(
                f"supervisord all info, {workers} programs", timed(proxy.supervisor.getAllProcessInfo, rounds // 5)
            ),
            figures("supervisorctl status", timed(run, max(5, rounds // 50))),
        ]
        proxy("close")()
    return found


def circus(folder: Path, workers: int, rounds: int) -> list[dict[str, object]]:
    from circus.client import CircusClient

    conf = folder / "circus.ini"
    endpoint = f"ipc://{folder}/circus.sock"
    conf.write_text(
        f"[circus]\nendpoint = {endpoint}\npubsub_endpoint = ipc://{folder}/pub.sock\nstatsd = false\n"
        f"[watcher:w]\ncmd = sleep\nargs = 1000\nnumprocesses = {workers}\nwarmup_delay = 0\n"
    )
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with child([str(BIN / "circusd"), str(conf)], **quiet):
        client = CircusClient(endpoint=endpoint, timeout=10)
        try:
            wait_until(lambda: client.send_message("numprocesses", name="w")["numprocesses"] == workers)
            return [
                figures("circus status", timed(lambda: client.send_message("status"), rounds // 2)),
                figures(
                    f"circus list of {workers} pids", timed(lambda: client.send_message("list", name="w"), rounds // 2)
                ),
            ]
        finally:
            client.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--workers", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        server(asked.serve, asked.workers)
        return
    folder = Path(tempfile.mkdtemp(prefix="gb-"))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        found = ours(folder, asked.workers, asked.rounds)
        for peer in () if asked.no_peers else (supervisord, circus):
            try:
                found += peer(folder, asked.workers, asked.rounds)
            except Exception as problem:
                print(f"{peer.__name__}: not measured: {problem!r}", file=sys.stderr)
    if asked.json:
        print(json.dumps({"schema": 1, "load": os.getloadavg()[0], "figures": found}))
        return
    print(f"{'what':<52} {'p50 ms':>9} {'p99 ms':>9} {'n':>6}   (load {os.getloadavg()[0]:.1f})")
    for row in found:
        print(f"{row['what']:<52} {row['p50_ms']:>9} {row['p99_ms']:>9} {row['n']:>6}")


if __name__ == "__main__":
    main()
