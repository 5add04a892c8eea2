"""Numbered SQL, applied in order by ``store.schema``."""
