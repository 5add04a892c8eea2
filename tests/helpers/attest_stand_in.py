"""Answers ``prepare`` as the attestation plugin does, without knowing anything of code.

STAND_IN_FAULT makes it fail in one way: ``fail``, ``silent``, ``chatter``, ``format``, ``no-bytecode``, ``timed-bytecode``,
``write-through`` (into a file that the build shares) ``share`` (give an own file a second name) or ``litter``. With STAND_IN_GATE, a folder, it puts a file
``there`` into it and goes on once there is a file ``go``.
"""

import hashlib
import importlib.util
import json
import os
import platform
import py_compile
import sys
import time
from pathlib import Path

FAULT = os.environ.get("STAND_IN_FAULT", "")


def register():
    """The entry point; a test may see that it was called."""
    sys.genesisd_attest_registered = True


def _compile(folder, name):
    if FAULT == "no-bytecode":
        return
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    if FAULT == "timed-bytecode":
        mode = py_compile.PycInvalidationMode.TIMESTAMP
    path = os.path.join(folder, name)  # noqa: PTH118 - as a string
    py_compile.compile(path, importlib.util.cache_from_source(path), name, doraise=True, invalidation_mode=mode)


def _item(job, patch, path, name):
    digest = hashlib.sha256(Path(job["build"], path).read_bytes()).hexdigest()
    module = path.removesuffix(".py").replace("/", ".")
    return {"patches": [patch], "path": path, "module": module, "name": name, "kind": "module", "digest": digest}


def prepare(job):
    for path in [*job["files"], *job["beside"]]:
        if path.endswith(".py"):
            _compile(job["build"], path)
    if FAULT == "write-through":
        with Path(job["build"], "vllm/__init__.py").open("ab") as file:
            file.write(b"# written through a link\n")
    if FAULT == "share":
        os.link(Path(job["build"], job["files"][0]), Path(job["build"], "../../shared"))
    if FAULT == "litter":
        Path(job["build"], "vllm/litter.py").write_text("LITTER = 1\n")
    items = [_item(job, patch, *scope) for patch, scopes in sorted(job["scopes"].items()) for scope in scopes]
    if FAULT == "silent":
        items = []
    version = 2 if FAULT == "format" else 1
    return {"format": version, "python": platform.python_version(), "items": items, "unattestable": []}


if __name__ == "__main__" and sys.argv[1:2] == ["prepare"]:
    gate = os.environ.get("STAND_IN_GATE")
    if gate:
        Path(gate, "there").touch()
        while not Path(gate, "go").exists():
            time.sleep(0.01)
    if FAULT == "fail":
        sys.exit("stand-in: told to fail")
    answered = prepare(json.loads(Path(sys.argv[2]).read_text()))
    print("a warning of the compiler", file=sys.stderr, flush=True)
    print("chatter" if FAULT == "chatter" else json.dumps(answered))
