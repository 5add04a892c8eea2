"""The configuration in force."""

from __future__ import annotations

from dataclasses import dataclass

from genesisd.config.root import Config, PortRange


@dataclass(slots=True)
class Current:
    """A reload replaces it, and every part sees the new one."""

    config: Config

    def port_range(self) -> PortRange:
        """Where engines behind fronts listen."""
        return self.config.daemon.port_range
