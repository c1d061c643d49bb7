"""Adapters for agent frameworks, one module or folder each; nothing in the package imports them.

Each needs its framework, which the extra of the same name installs.
"""
