"""Speculative decoding: what is drafted, and what becomes of it."""
