"""Patches of mixture-of-experts layers."""
