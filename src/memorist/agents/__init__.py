"""Memory for coding agents: installs it into their configuration, and answers their hooks."""
