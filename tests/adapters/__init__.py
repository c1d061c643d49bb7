"""Adapters, each with its framework: `make test-adapters`."""
