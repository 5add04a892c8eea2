"""Patches of quantised weights: which layers are, and how."""
