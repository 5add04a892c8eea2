"""A host of cases without torch: the lines of ``tests/catalog/server.py``, spoken by any Python.

{"path": [FOLDER], "case": FILE, "tree": VERSION} in, {"seen": ..., "expected": {...}} or {"error": ...} out
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import traceback


def main() -> None:
    """Answer until there are no more lines."""
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = _observed(asked)
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), flush=True)


def _observed(asked: dict) -> dict:
    """In this process: a case for these tests reads files and imports nothing that would stay."""
    case = runpy.run_path(asked["case"])
    os.environ["CASE_TREE"] = asked["path"][0]
    told = {"red": case["RED"], "green": case["GREEN"], "upstream": case.get("UPSTREAM", case["GREEN"])}
    return {"seen": case["observe"](asked["tree"]), "expected": {**told, "verdicts": case["VERDICTS"]}}


if __name__ == "__main__":
    main()
