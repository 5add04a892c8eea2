"""The upstream watch: what became of the pull requests that matter here, and what follows from it."""
