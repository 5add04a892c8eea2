"""The KV cache: which blocks are reused, and how that is counted."""
