"""``genesisctl watch check``: a program of its own, since it reads watchlist, register and catalog."""
