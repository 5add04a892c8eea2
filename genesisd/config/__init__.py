"""The configuration: one YAML file and its drop-ins, checked as a whole; and what changed between two of them."""

from genesisd.config.diff import Changed, ConfigDiff, changed, diff
from genesisd.config.layers import Explained
from genesisd.config.paths import Paths
from genesisd.config.root import Config, DaemonSpec, FileSpec, explain, load

__all__ = [
    "Changed",
    "Config",
    "ConfigDiff",
    "DaemonSpec",
    "Explained",
    "FileSpec",
    "Paths",
    "changed",
    "diff",
    "explain",
    "load",
]
