"""What is changed in the engine: patches as constants, a pure engine that plans them, and the gates before it."""
