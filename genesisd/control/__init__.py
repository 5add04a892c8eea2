"""The control socket: wire types, server, client."""
