"""What the daemon tells about itself: log, metrics, events."""
