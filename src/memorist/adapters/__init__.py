"""Adapters for agent frameworks, with one module or folder each. Nothing in the package imports them.

Each adapter needs its framework, which the extra of the same name installs.
"""
