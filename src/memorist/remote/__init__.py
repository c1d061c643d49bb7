"""The remote client, `Memory("https://…")`: the same nouns, where each call is a request to a Memorist server."""
