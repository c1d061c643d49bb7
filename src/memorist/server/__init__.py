"""Implements `memorist serve`, one process that serves the HTTP API, MCP and the inspector over any store."""
