"""Patches of structured output: grammars and what they let through."""
