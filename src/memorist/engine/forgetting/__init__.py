"""Forgets things together with everything derived from them, and traces things to their sources."""
