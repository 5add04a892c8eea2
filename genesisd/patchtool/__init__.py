"""``python -m genesisd.patchtool``: what people do with patches, away from the daemon. ``genesisctl patches`` runs it."""
