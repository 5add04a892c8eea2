"""Saves a watchlist and dies on the way: ``dying_save.py FILE NEW SEEN call N`` or ``... write BYTES``.

At the Nth call that Python audits (opening, renaming, locking, attributes) or that goes to the disk, or as the write
goes beyond BYTES, the process is killed. Without dying it prints ``saved``.
"""

import itertools
import os
import resource
import signal
import sys
from pathlib import Path

from genesisd.watch.save import save

calls = itertools.count(1)


def count(event: str = "", _: object = None) -> None:
    if event != "import" and next(calls) == limit:
        os.kill(os.getpid(), signal.SIGKILL)


path, new, seen, how, number = sys.argv[1:]
limit = int(number)
content = Path(new).read_bytes()
if how == "call":
    fsync = os.fsync

    def counted(fd: int) -> None:
        count()
        fsync(fd)
        count()

    os.fsync = counted
    sys.addaudithook(count)
else:
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
save(Path(path), content, seen=seen)
os._exit(0 if os.write(1, b"saved\n") else 1)
