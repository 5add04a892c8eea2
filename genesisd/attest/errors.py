"""What can go wrong with attestation itself."""

from __future__ import annotations

from genesisd.errors import GenesisError


class AttestError(GenesisError):
    """What a build says that it must run cannot be read; ``fields`` holds build and field."""

    code = "attest"
