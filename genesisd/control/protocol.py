"""Constants that both ends of the control socket share. Imports nothing, so that the CLI starts fast."""

SCHEMA = 1
"""Version of the JSON bodies. It grows only when a field changes its meaning or goes; new fields do not count."""

PROTOCOL_MIN = 1
PROTOCOL_MAX = 1
PROTOCOL_HEADER = "Genesisd-Protocol"
"""A request carries the one protocol version that it speaks; an answer carries the range, as ``1-1``."""

HEARTBEAT = 5.0
"""Seconds of silence after which a followed stream gets an empty line, so that either end sees a dead peer."""

MAX_BODY = 64 << 10
"""Bytes of the largest request body."""

HTTP_STATUS = {
    "usage": 400,
    "protocol": 400,
    "permission": 403,
    "not_found": 404,
    "conflict": 409,
    "too_large": 413,
    "config": 422,
    "error": 500,
    "unavailable": 503,
    "timeout": 504,
}
"""HTTP status by error code; a code that is not listed is answered with 500."""
