"""The memory writer defines what a language model sees, what it may answer, and which of its answers are accepted.

Everything here is a pure function. `engine/derive/writing.py` collects the input and carries out the accepted
operations.
"""
