"""What starts, signals and adopts the process trees of workers: one module a runner."""
