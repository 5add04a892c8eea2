"""Incidents: what went wrong, what shows it, what was done about it, and the words for people."""
