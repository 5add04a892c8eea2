"""Patches of the layer that speaks HTTP."""
