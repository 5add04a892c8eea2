"""Patches that are wrong on purpose."""
