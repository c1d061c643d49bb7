"""Implements all behaviour once, as coroutines, with one module per noun.

`AsyncMemory` exposes these objects directly.
"""
