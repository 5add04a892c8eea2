"""The scheduler: what is run in a step, and what a step leaves behind."""
