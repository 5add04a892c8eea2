"""Runs cases on trees: a process of the pin's Python that has torch loaded and forks for each case.

    server.py   reads {"path": [...], "case": FILE, "tree": VERSION} a line, and may be told of "extras", a folder;
                answers {"seen": ..., "expected": {"red": ..., ...}} or {"error": ...}

Loading torch and the libraries takes two seconds, and every case needs them; the engine itself is loaded in the
fork, from whatever tree the case is asked about. It ends with whoever began it, and so does a case with it.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import resource
import signal
import sys
import traceback

MINUTES = 3
PR_SET_PDEATHSIG = 1


def main() -> None:
    _end_with_parent()
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    import torch
    import torch._dynamo
    import torch._inductor.lowering
    import transformers  # noqa: F401
    import xgrammar  # noqa: F401

    torch.set_num_threads(1)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever the engine prints is no answer
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(_forked(json.loads(line))), file=answers, flush=True)


def _forked(request: dict) -> dict:
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(out)
        _end_with_parent()
        try:
            answer = json.dumps(_observe(request))
        except BaseException:
            answer = json.dumps({"error": traceback.format_exc()})
        with os.fdopen(into, "w") as pipe:
            pipe.write(answer)
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as pipe:
        text = pipe.read()
    _, status = os.waitpid(pid, 0)
    return json.loads(text) if text else {"error": f"the case ended the process: status {status}"}


def _observe(request: dict) -> dict:
    resource.setrlimit(resource.RLIMIT_CPU, (60 * MINUTES, 60 * MINUTES))
    sys.path[:0] = request["path"]
    sys.path += [request["extras"]] if "extras" in request else []
    spec = importlib.util.spec_from_file_location("case", request["case"])
    case = importlib.util.module_from_spec(spec)
    sys.modules["case"] = case  # dataclasses and pickles look their module up
    spec.loader.exec_module(case)
    seen = case.observe(request["tree"])
    if not hasattr(case, "RED"):
        return {"seen": seen}  # it looks, and expects nothing of a patch
    told = {"red": case.RED, "green": case.GREEN, "upstream": getattr(case, "UPSTREAM", case.GREEN)}
    return {"seen": seen, "expected": {**told, "verdicts": case.VERDICTS}}


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    main()
