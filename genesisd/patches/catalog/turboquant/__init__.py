"""Patches of the TurboQuant cache and its attention."""
