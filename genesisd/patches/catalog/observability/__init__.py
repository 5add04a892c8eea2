"""What an engine tells of itself: its metrics."""
