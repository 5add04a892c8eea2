"""Which processes an engine must have, and what their titles say."""

from __future__ import annotations

import pytest

from genesisd.attest.roles import Role, Wanted, label_of, role_of, wanted_roles


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        ("", Wanted(1, 1, 0)),
        ("--model m --max-model-len 16", Wanted(1, 1, 0)),
        ("--tensor-parallel-size 2", Wanted(1, 1, 2)),
        ("--tensor-parallel-size=2", Wanted(1, 1, 2)),
        ("--tensor_parallel_size 2", Wanted(1, 1, 2)),
        ("-tp 2 -pp 3", Wanted(1, 1, 6)),
        ("-tp=4", Wanted(1, 1, 4)),
        ("-tp 2 -tp 4", Wanted(1, 1, 4)),
        ("-tp 2 -pcp 2", Wanted(1, 1, 4)),
        ("--data-parallel-size 2", Wanted(1, 2, 0)),
        ("-dp 2 -tp 2", Wanted(1, 2, 4)),
        ("-dp 4 --data-parallel-size-local 2 -tp 2", Wanted(1, 2, 4)),
        ("--api-server-count 3", Wanted(3, 1, 0)),
        ("--headless -tp 2", Wanted(1, 1, 2)),
        ("--distributed-executor-backend mp", Wanted(1, 1, 1)),
        ("--distributed-executor-backend uni -tp 2", Wanted(1, 1, 0)),
        ("--distributed-executor-backend ray -tp 2", Wanted(1, 1, 0)),
        ("-tp two", Wanted(1, 1, 0)),
        ("-tp 0", Wanted(1, 1, 0)),
        ("-tp", Wanted(1, 1, 0)),
        ("-tp -pp 2", Wanted(1, 1, 2)),
    ],
)
def test_flags(flags: str, wanted: Wanted):
    """Long and short, with and without '='; the last one counts."""
    assert wanted_roles(flags.split()) == wanted


@pytest.mark.parametrize(
    ("title", "label", "role"),
    [
        ("genesis:w:1::EngineCore", "EngineCore", Role.ENGINE),
        ("genesis:w:1::EngineCore_DP1", "EngineCore_DP1", Role.ENGINE),
        ("VLLM::Worker", "Worker", Role.WORKER),
        ("VLLM::Worker_PP0_TP1", "Worker_PP0_TP1", Role.WORKER),
        ("VLLM::APIServer_0", "APIServer_0", Role.API),
        ("VLLM::DPCoordinator", "DPCoordinator", None),
        ("/bin/vllm serve m", "", None),
        ("/bin/vllm serve --prompt a::Worker", "", None),
        ("", "", None),
    ],
)
def test_titles(title: str, label: str, role: Role | None):
    """Only the first word is a title; the rest is somebody's argument."""
    assert label_of(title) == label
    assert role_of(title) is role


def test_how_many_of_a_role():
    """Of helpers none is ever wanted."""
    wanted = Wanted(1, 2, 3)
    assert [wanted.of(one) for one in Role] == [1, 2, 3, 0]
