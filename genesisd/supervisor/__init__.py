"""Keeps workers in the state that is wanted: decisions, the actors that carry them out, the shims that outlive both."""
