"""genesisd keeps patched vLLM workers up, and right."""

__version__ = "0.1.0"
