"""Which patch is to blame: a search over sets of patches that can be applied together. Pure."""
