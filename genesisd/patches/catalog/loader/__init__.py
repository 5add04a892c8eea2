"""Patches of how a model is found and read."""
