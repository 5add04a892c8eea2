"""The judge: what follows from probes that say that a worker answers wrong. Decisions only; wiring carries them out."""
