"""Patches of what turns an answer into tool calls, and of the schemas that go before."""
