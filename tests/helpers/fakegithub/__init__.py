"""A GitHub on the loopback that answers from facts, and can be made to misbehave."""

from tests.helpers.fakegithub.facts import Fact, World, from_fixture, synthetic
from tests.helpers.fakegithub.faults import Faults, Refuse, Slow, Status, Truncated
from tests.helpers.fakegithub.server import TOKEN, FakeGitHub, Request, fake_github

__all__ = [
    "TOKEN",
    "Fact",
    "FakeGitHub",
    "Faults",
    "Refuse",
    "Request",
    "Slow",
    "Status",
    "Truncated",
    "World",
    "fake_github",
    "from_fixture",
    "synthetic",
]
