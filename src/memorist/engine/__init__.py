"""Implements all behaviour once, as coroutines, in one module per noun.

`AsyncMemory` exposes these objects directly.
"""
