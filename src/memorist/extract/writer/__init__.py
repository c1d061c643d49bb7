"""The memory writer: what a language model is shown, what it may answer, and which of its answers are accepted.

Everything here is pure: `engine/derive/writing.py` gathers what is shown and carries out what was accepted.
"""
