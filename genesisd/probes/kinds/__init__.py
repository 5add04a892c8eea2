"""One probe kind a file."""
