"""Where the demo model lies, and proof that it is the one that was committed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from genesisd.errors import GenesisError

FOLDER = Path(__file__).parent / "tiny"
CASEBOOK = Path(__file__).with_name("casebook.yaml")
"""What the probes of a worker that serves it may ask."""
SUMS = "SHA256SUMS"
TEMPLATES = {"hermes": "chat_template.jinja", "qwen3_coder": "chat_template.qwen3_coder.jinja"}


class DemoModelError(GenesisError):
    """The demo model is missing or not what was committed; ``fields`` holds path, found and expected."""

    code = "demo_model"


@dataclass(frozen=True)
class DemoModel:
    """A verified model folder.

    Attributes:
        path: folder to serve.
        sha256: hash of its SHA256SUMS, and so of every file in it.
    """

    path: Path
    sha256: str

    def template(self, tool_parser: str) -> Path:
        """The chat template that makes the model call tools as ``tool_parser`` reads them.

        Raises:
            DemoModelError: the model was not trained for that parser.
        """
        if tool_parser not in TEMPLATES:
            known = ", ".join(sorted(TEMPLATES))
            raise DemoModelError(
                f"The demo model knows no tool parser {tool_parser!r}.", hint=f"Use one of: {known}.", found=tool_parser
            )
        return self.path / TEMPLATES[tool_parser]


def locate(folder: Path = FOLDER) -> DemoModel:
    """The demo model, every file checked against SHA256SUMS (about a megabyte is read).

    Raises:
        DemoModelError: a file is missing or differs.
    """
    sums = folder / SUMS
    listing = _read(sums)
    for line in listing.decode().splitlines():
        expected, name = line.split("  ", 1)
        _verify(folder / name, expected)
    return DemoModel(path=folder, sha256=hashlib.sha256(listing).hexdigest())


def _verify(path: Path, expected: str) -> None:
    found = hashlib.sha256(_read(path)).hexdigest()
    if found != expected:
        raise DemoModelError(
            f"{path} is not the committed file: its SHA-256 is {found}, expected {expected}.",
            hint=f"Restore it (git checkout -- {path.name}), or train anew: see docs/demo-model.md.",
            path=str(path),
            found=found,
            expected=expected,
        )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DemoModelError(
            f"The demo model lacks {path}: {error.strerror}.",
            hint="Install genesisd again, or restore the folder from git.",
            path=str(path),
        ) from error
