"""Forgetting and lineage: what goes with a thing, and where a thing came from."""
