"""The stable address in front of a worker: a process of its own (``main``) and the daemon's side (``link``)."""
