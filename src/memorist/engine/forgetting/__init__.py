"""Forgetting and lineage: deletes a thing with everything derived from it, and traces a thing to its sources."""
