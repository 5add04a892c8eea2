"""A run of the daemon. ``run`` has its order; each other file is one thing that a run does."""

from genesisd.daemon.run import Daemon

__all__ = ["Daemon"]
