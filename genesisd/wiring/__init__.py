"""Adapters between features: each implements one port with what another feature offers."""
