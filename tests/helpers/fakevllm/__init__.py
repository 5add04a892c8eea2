"""The parts of ``fake_worker.py``: stdlib only, small, and quick to start."""
