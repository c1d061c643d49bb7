"""`Memory("https://…")`: the same nouns, each call one request to a Recollect server."""
