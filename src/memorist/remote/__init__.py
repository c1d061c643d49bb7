"""The remote client, `Memory("https://…")`: the same nouns, with each call sent as a request to a Memorist server."""
