"""The peers: supervisord and circus, with the settings of the daemon that they stand beside."""

from __future__ import annotations

import subprocess
from typing import Any

from benchmarks.contestants import BIN, QUIET, Contestant, end
from benchmarks.rig import until


class Supervisord(Contestant):
    """supervisord with its defaults, but autorestart always; asked through its own XML-RPC."""

    label = "supervisord"
    pause = 1.3
    """startsecs is 1: who dies earlier is not restarted but retried."""

    def start(self) -> None:
        self.socket = self.folder / "s.sock"
        self.file = self.folder / "s.conf"
        self.write(extra=False)
        self.process = subprocess.Popen([str(BIN / "supervisord"), "-c", str(self.file)], **QUIET)
        self.pid = self.process.pid
        until(lambda: self.connect().getState())
        self.proxy = self.connect()

    def connect(self) -> Any:
        import xmlrpc.client  # noqa: PLC0415 - only where it is measured

        from supervisor.xmlrpc import SupervisorTransport  # noqa: PLC0415

        transport = SupervisorTransport(None, None, f"unix://{self.socket}")
        return xmlrpc.client.ServerProxy("http://127.0.0.1", transport=transport).supervisor

    def write(self, *, extra: bool) -> None:
        common = (
            f"command={' '.join(self.child)}\nautorestart=true\nstdout_logfile=NONE\nstderr_logfile=NONE\n"
            f"stopwaitsecs={self.grace:g}\n"
        )
        self.file.write_text(
            f"[unix_http_server]\nfile={self.socket}\n[supervisord]\nnodaemon=true\nlogfile=/dev/null\n"
            f"logfile_maxbytes=0\npidfile={self.folder}/s.pid\nminfds=1024\n[rpcinterface:supervisor]\n"
            "supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface\n"
            f"[program:w]\nnumprocs={self.count}\nprocess_name=w%(process_num)d\n{common}"
            + (f"[program:extra]\n{common}" if extra else "")
        )

    def settle(self) -> None:
        until(lambda: all(one["statename"] == "RUNNING" for one in self.proxy.getAllProcessInfo()))

    def end(self) -> None:
        end(self.process)

    def ask(self) -> object:
        return self.proxy.getAllProcessInfo()

    def command(self) -> list[str]:
        return [str(BIN / "supervisorctl"), "-s", f"unix://{self.socket}", "status"]

    def stop_all(self) -> None:
        self.proxy.stopAllProcesses()

    def reload(self) -> None:
        self.proxy.reloadConfig()
        self.proxy.addProcessGroup("extra")

    def drop(self) -> None:
        self.proxy.stopProcessGroup("extra")
        self.proxy.removeProcessGroup("extra")
        self.write(extra=False)
        self.proxy.reloadConfig()


class Circus(Contestant):
    """circusd with its defaults; asked through its own client."""

    label = "circus"
    check_delay = 5.0

    def start(self) -> None:
        from circus.client import CircusClient  # noqa: PLC0415 - only where it is measured

        self.endpoint = f"ipc://{self.folder}/c.sock"
        self.file = self.folder / "circus.ini"
        self.write(extra=False)
        self.process = subprocess.Popen([str(BIN / "circusd"), str(self.file)], **QUIET)
        self.pid = self.process.pid
        self.client = CircusClient(endpoint=self.endpoint, timeout=120)

    def write(self, *, extra: bool) -> None:
        common = f"cmd = {' '.join(self.child)}\nwarmup_delay = 0\ngraceful_timeout = {self.grace:g}\n"
        self.file.write_text(
            f"[circus]\nendpoint = {self.endpoint}\npubsub_endpoint = ipc://{self.folder}/p.sock\nstatsd = false\n"
            f"check_delay = {self.check_delay:g}\n[watcher:w]\nnumprocesses = {self.count}\n{common}"
            + (f"[watcher:extra]\n{common}" if extra else "")
        )

    def settle(self) -> None:
        until(lambda: self.client.send_message("numprocesses", name="w")["numprocesses"] == self.count)

    def end(self) -> None:
        self.client.stop()
        end(self.process)

    def ask(self) -> object:
        return self.client.send_message("list", name="w")

    def command(self) -> list[str]:
        return [str(BIN / "circusctl"), "--endpoint", self.endpoint, "status"]

    def stop_all(self) -> None:
        self._order("stop", name="w", waiting=False)

    def reload(self) -> None:
        self._order("reloadconfig", waiting=False)

    def drop(self) -> None:
        self.write(extra=False)
        self._order("reloadconfig", waiting=True)

    def _order(self, order: str, **fields: object) -> None:
        """It refuses while it is still busy with another order."""
        answer = self.client.send_message(order, **fields)
        if answer["status"] != "ok":
            raise RuntimeError(f"circus refused {order}: {answer}")


class CircusEverySecond(Circus):
    """circusd that looks at its children each second."""

    label = "circus, check_delay 1"
    check_delay = 1.0
