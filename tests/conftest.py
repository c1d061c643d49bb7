"""Shared by all tests: the public plugin, and servers that tests start for themselves."""

pytest_plugins = ["recollect.testing.plugin"]
