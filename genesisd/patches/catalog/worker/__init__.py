"""Patches of the worker that runs the model."""
