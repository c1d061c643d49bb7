"""Benchmarks: ours beside the raw floor (the bare driver doing the same durable work) and beside peers, as ratios."""
