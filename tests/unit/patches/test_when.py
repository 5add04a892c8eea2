"""Circumstances are given, not given, or cannot be told; and why is said."""

import pytest

from genesisd.patches.conditions import Answer
from genesisd.patches.facts import gather
from genesisd.patches.when import When, holds

CONFIG = {"a": 1, "off": False, "nothing": None, "text_config": {"a": 2, "inner": "x"}}
ARGS = ("--x", "--no-y", "--n=4", "--s=word", "-cc.mode=FULL", "-cc.pass.fuse=true")
Y, N, C = Answer.YES, Answer.NO, Answer.CANNOT_TELL


@pytest.mark.parametrize(
    ("written", "answer", "reason"),
    [
        ({}, Y, ""),
        # A switch.
        ({"flags": {"--x": True}}, Y, ""),
        ({"flags": {"--x": False}}, N, "--x is True"),
        ({"flags": {"--y": True}}, N, "--y is False"),
        ({"flags": {"--y": False}}, Y, ""),
        ({"flags": {"--z": True}}, N, "--z is not given"),
        ({"flags": {"--z": False}}, Y, ""),
        ({"flags": {"--n": False}}, N, "--n is True"),
        # A value.
        ({"flags": {"--s": ["word", "other"]}}, Y, ""),
        ({"flags": {"--s": ["other"]}}, N, "--s is word"),
        ({"flags": {"--z": ["word"]}}, N, "--z is not given"),
        ({"flags": {"--n": {"gte": 4}}}, Y, ""),
        ({"flags": {"--n": {"gte": 5}}}, N, "--n is 4"),
        ({"flags": {"--s": {"gte": 1}}}, N, "--s is not given"),
        ({"flags": {"--s": {"none_of": ["other"]}}}, Y, ""),
        ({"flags": {"--s": {"none_of": ["word"]}}}, N, "--s is word"),
        ({"flags": {"--z": {"none_of": ["word"]}}}, Y, ""),
        # A key of a flag that takes JSON.
        ({"flags": {"--compilation-config.mode": ["FULL"]}}, Y, ""),
        ({"flags": {"--compilation-config.mode": ["NONE"]}}, N, "--compilation-config.mode is FULL"),
        ({"flags": {"--compilation-config.pass.fuse": True}}, Y, ""),
        ({"flags": {"--compilation-config.mode.fuse": True}}, N, "--compilation-config.mode.fuse is not given"),
        ({"flags": {"--attention-config.mode": False}}, Y, ""),
        # The model's config, the environment, facts.
        ({"config": {"a": [1]}}, Y, ""),
        ({"config": {"a": [2]}}, N, "a is 1"),
        ({"config": {"inner": True}}, Y, ""),
        ({"config": {"off": True}}, N, "off is False"),
        ({"config": {"nothing": True}}, N, "nothing is not given"),
        ({"env": {"A": ["1"]}}, Y, ""),
        ({"env": {"A": ["2"]}}, N, "A is 1"),
        ({"env": {"B": True}}, N, "B is not given"),
        ({"env": {"A": True, "B": False}}, Y, ""),
        ({"facts": {"spec_method": None}}, Y, ""),
        ({"facts": {"spec_method": "mtp"}}, N, "spec_method is None, not mtp"),
        # Not to know one thing is decided by the others.
        ({"facts": {"sm": 86}}, C, "sm is not known"),
        ({"facts": {"sm": 86}, "flags": {"--x": True}}, C, "sm is not known"),
        ({"facts": {"sm": 86}, "flags": {"--x": False}}, N, "--x is True"),
        ({"facts": {"sm": 86}, "env": {"B": True}}, N, "B is not given"),
    ],
)  # fmt: skip
def test_circumstances(written, answer, reason):
    """Every kind of rule, held and not."""
    found = holds(When.model_validate(written), gather(CONFIG, ARGS, None), {"A": "1"})
    assert (found.answer, found.reason) == (answer, reason)


@pytest.mark.parametrize(
    ("written", "args", "answer", "reason"),
    [
        ({"config": {"a": True}}, [], C, "config.json could not be had, so a is not known"),
        ({"flags": {"--x": True}}, ["--config=f"], C, "--x may stand in the file that --config names"),
        ({"flags": {"--x": False}}, ["--config=f", "--x"], N, "--x is True"),
        ({"flags": {"--compilation-config.mode": True}}, ["-cc", "{"], C, "--compilation-config cannot be read"),
    ],
)
def test_what_cannot_be_told_says_why(written, args, answer, reason):
    """A file that is not here, and JSON that is none."""
    found = holds(When.model_validate(written), gather(None, args, None), {})
    assert (found.answer, found.reason) == (answer, reason)
