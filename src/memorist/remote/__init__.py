"""Implements the remote client, `Memory("https://…")`. It has the same nouns, and sends each call to a Memorist
server."""
