"""A tiny real model for a real vLLM, and the golden set that it knows by heart."""
