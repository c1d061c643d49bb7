"""Contains adapters for agent frameworks, one module or folder for each. Nothing else in the package imports them.

Each adapter needs its framework, which the extra of the same name installs.
"""
