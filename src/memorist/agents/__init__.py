"""Installs memory into the configuration of coding agents, and answers their hooks."""
