"""Attestation: what each process of the engine really runs, against what the build says that it must."""
