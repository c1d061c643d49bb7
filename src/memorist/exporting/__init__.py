"""Exports data to the formats of other tools. The lossless export in our own format is in `engine/portable.py`."""
