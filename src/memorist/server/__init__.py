"""Implements `memorist serve`, a single process that serves the HTTP API, MCP and the inspector over any store."""
