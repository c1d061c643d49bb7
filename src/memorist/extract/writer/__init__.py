"""The memory writer defines what a language model sees, what it may answer, and which of its answers are accepted.

All functions here are pure. `engine/derive/writing.py` collects the input and carries out the accepted
operations.
"""
