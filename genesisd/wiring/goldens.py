"""Where recordings of right answers are kept: a folder a model, a file a build.

Files, not rows: people read them, compare them, copy them to the next box, and delete one that they do not believe.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from genesisd.errors import GenesisError
from genesisd.patches.serve_flags import Given, read
from genesisd.pins.atomic import sync_folder, write_bytes
from genesisd.probes.golden import Golden
from genesisd.probes.golden_json import from_json, written
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.starts import Start

Files = Mapping[Path, tuple[int, int, int]]
"""What tells one file under a name from another: inode, time of change, size."""
BY_RECORDING = frozenset({"golden", "logprob-drift", "tokenizer"})
"""Kinds that compare with a recording: they cannot speak for one that is to be made, nor once it is gone."""
COMMAND = "command"
"""Stands for the pin of a worker that has a command of its own."""
_PLAIN = re.compile(r"[^A-Za-z0-9._+-]+")
_PROGRAM = re.compile(r"-[A-Za-z]{0,3}[cm]")
"""Flags of shells and of Python (``-c``, ``-lc``, ``-m``): the words after them are what is run."""


SHAPING = frozenset(
    {
        "--config", "--model", "--dtype", "--quantization", "--kv-cache-dtype", "--load-format", "--revision", "--code-revision",
        "--tokenizer", "--tokenizer-mode", "--tokenizer-revision", "--hf-overrides", "--rope-scaling", "--rope-theta",
        "--generation-config", "--override-generation-config", "--chat-template", "--chat-template-content-format",
        "--default-chat-template-kwargs", "--enable-auto-tool-choice", "--tool-call-parser", "--tool-parser-plugin",
        "--reasoning-parser", "--reasoning-parser-plugin", "--enable-lora", "--lora-modules", "--logits-processors",
        "--logprobs-mode", "--quantization-config", "--kv-cache-dtype-skip-layers", "--mamba-cache-dtype", "--mamba-ssm-cache-dtype",
        "--lora-dtype", "--hf-config-path", "--reasoning-config", "--disable-sliding-window", "--watermark", "--watermark-config",
    }
)  # fmt: skip
"""Flags by which a right engine answers otherwise. Those that only make it faster are none: what they change is a fault."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a recording is of: the model with what shapes its answers, the pin or ``COMMAND``, and the build.

    The build is None without patches.
    """

    model: str
    pin: str
    build: str | None

    @property
    def plain(self) -> Subject:
        """The same without patches."""
        return replace(self, build=None)


def subject_of(worker: str, spec: WorkerSpec, start: Start | None) -> Subject | None:
    """What a life is, for recordings; None for a life with a pin of whose start nothing is known."""
    if spec.pin is None:
        return Subject(commanded(spec, worker), COMMAND, None)
    return None if start is None else Subject(shaped(spec, worker), start.pin or spec.pin, start.build)


def shaped(spec: WorkerSpec, worker: str) -> str:
    """The model and the flags by which it answers: two workers with one build need not say the same."""
    return " ".join((spec.model or worker, *_shaping(spec.args)))


def commanded(spec: WorkerSpec, worker: str) -> str:
    """The worker with a digest of what its command serves: another model under its name is not held against the last one.

    A digest, since programs are given secrets before their flags.
    """
    words = spec.command or ()
    first = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
    run = (word for one in read(words) if _PROGRAM.fullmatch(one.name) for word in one.values)
    content = "\0".join((*words[:first], *run, *_shaping(words)))
    return f"{worker}@{hashlib.sha256(content.encode()).hexdigest()[:8]}"


def estranged(specs: Mapping[str, WorkerSpec], recorded: Collection[str]) -> dict[str, str]:
    """Workers with no recording of their own, each with the one that it was held against by an earlier version.

    That knew models without their flags and commands by their workers; whose a recording was cannot be told any more.
    """
    now = {name: shaped(spec, name) if spec.pin is not None else commanded(spec, name) for name, spec in specs.items()}
    then = {name: (spec.model if spec.pin is not None else None) or name for name, spec in specs.items()}
    own = {*now.values()}
    return {
        name: model
        for name, model in then.items()
        if now[name] not in recorded and model in recorded and model not in own
    }


def _shaping(words: Sequence[str]) -> list[str]:
    given = {(one.name, one.keys): one for one in read(words) if one.name in SHAPING}
    return sorted(_written(one) for one in given.values())


def _written(one: Given) -> str:
    name = ".".join((f"--no-{one.name.removeprefix('--')}" if one.negated else one.name, *one.keys))
    return "=".join((name, *one.values))


class Goldens:
    """All recordings of a box, in memory; its folder is read again where somebody copied a file in, or took one out."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[Subject, Golden] = {}
        self._seen: Files = {}
        self.faults: list[str] = []
        """Files that are no recordings, each with what is wrong with it."""
        self.on_fault: Callable[[str], None] = lambda _: None
        """Is told of those that came after ``load``."""

    def load(self) -> None:
        """Read the folder. Blocks. What cannot be looked at now (no descriptors are left) is looked at by the next ask."""
        seen = self._files()
        if seen is None:
            return
        held: dict[Subject, Golden] = {}
        faults = []
        for path in seen:
            try:
                found = from_json(path.read_bytes())
            except (GenesisError, OSError) as error:
                faults.append(f"{path}: {error}")
                continue
            subject = Subject(found.model, found.pin, found.build)
            known = held.get(subject)
            if known is None or known.recorded <= found.recorded:  # a copy may have another name
                held[subject] = found
        self._seen, self._held, self.faults = seen, held, faults  # at once: another thread may ask meanwhile

    def _files(self) -> Files | None:
        """What lies there; None while nobody can say."""
        try:
            marks = {path: _mark(path) for path in sorted(self._folder.glob("*/*.json"))}
        except OSError:
            return None
        return {path: mark for path, mark in marks.items() if mark is not None}

    def _look(self) -> None:
        """A few calls of ``stat``, once an ask: whoever deletes a recording that is wrong wants it to count no more."""
        if self._files() in (None, self._seen):
            return
        known = set(self.faults)
        self.load()
        for fault in self.faults:
            if fault not in known:
                self.on_fault(fault)

    @property
    def models(self) -> frozenset[str]:
        """Of which models there are recordings, by the names under which they are kept."""
        return frozenset(one.model for one in self._held)

    def of(self, subject: Subject) -> Golden | None:
        """What was recorded of exactly this."""
        self._look()
        return self._held.get(subject)

    def expected(self, subject: Subject) -> Golden | None:
        """What the answers of this build are held against.

        Its own recording; without one that of the plain pin, less the cases that some build of the pin is known to
        answer otherwise: a set of patches that nobody recorded yet is not thereby right in all it says.
        """
        own = self.of(subject)
        if own is not None or subject.build is None:
            return own
        plain = self._held.get(subject.plain)
        if plain is None:
            return None
        differs = {case for key, one in self._held.items() if key.plain == subject.plain for case in one.differs}
        return replace(plain, replies={name: reply for name, reply in plain.replies.items() if name not in differs})

    def keep(self, golden: Golden) -> Path:
        """Keep one, in the place of an earlier one of the same build; returns its file. Blocks.

        Raises OSError, and GoldenError for answers that cannot be kept.
        """
        subject = Subject(golden.model, golden.pin, golden.build)
        path = self.path(subject)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, written(golden), mode=0o640)
        sync_folder(path.parent)
        self.load()
        return path

    def path(self, subject: Subject) -> Path:
        """Where one is kept."""
        return self._folder / _slug(subject.model) / f"{_slug(subject.build or subject.pin)}.json"


def _mark(path: Path) -> tuple[int, int, int] | None:
    """None where it was taken out just now; one that cannot be looked at, or leads nowhere, costs only itself."""
    try:
        one = path.stat()
    except FileNotFoundError:
        return (0, 0, 0) if path.is_symlink() else None
    except OSError:
        return 0, 0, 0
    return one.st_ino, one.st_mtime_ns, one.st_size


def _slug(name: str) -> str:
    """A file name that people recognise; what had to be changed is told apart by a digest."""
    plain = _PLAIN.sub("-", name).strip("-.")[-80:]
    return plain if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
