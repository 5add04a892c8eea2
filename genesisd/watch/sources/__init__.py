"""Whom the watch asks: GitHub, the package index, and a local mirror of upstream's repository."""
