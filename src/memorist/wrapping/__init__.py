"""Gives programs that call a model provider a memory: `memorist.wrap` for the SDKs, and a proxy for other programs.

Both work on the HTTP request and its answer, so everything else that the SDK or the program does stays the same.
"""
