"""Names of pull requests and issues: ``vllm#123``, ``owner/repo#123``."""

from __future__ import annotations

import re
from dataclasses import dataclass

UPSTREAM = "vllm-project/vllm"
_SHORT = {"vllm": UPSTREAM}
_FORM = re.compile(r"(?P<repo>[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)?)?#(?P<number>[1-9]\d{0,8})")


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """A pull request or an issue; which of the two, only its repository knows. To upstream letters have no case.

    Attributes:
        repo: ``owner/name``.
        number: within it.
    """

    repo: str
    number: int

    @property
    def folded(self) -> Ref:
        """Equal for all that are the same to upstream."""
        return Ref(self.repo.casefold(), self.number)

    def __str__(self) -> str:
        short = next((short for short, repo in _SHORT.items() if repo == self.repo), self.repo)
        return f"{short}#{self.number}"


def parse_ref(text: str, home: str = UPSTREAM) -> Ref:
    """``vllm#1``, ``owner/repo#1`` or ``#1`` (of ``home``); raises ValueError that says what was expected."""
    found = _FORM.fullmatch(text.strip())
    if found is None or (found["repo"] and "/" not in found["repo"] and found["repo"] not in _SHORT):
        raise ValueError(f"expected a pull request such as vllm#123 or owner/repo#123, not {text!r}")
    repo = found["repo"] or home
    repo = UPSTREAM if repo.casefold() == UPSTREAM else _SHORT.get(repo, repo)
    return Ref(repo, int(found["number"]))
