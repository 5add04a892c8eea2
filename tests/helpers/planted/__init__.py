"""Patches that are wrong on purpose, for tests of what becomes of them."""
