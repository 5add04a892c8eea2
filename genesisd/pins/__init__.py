"""Pins: exact upstream versions and the environments that hold them."""
