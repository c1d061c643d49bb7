"""Adds memory to programs that call a model provider, with `memorist.wrap` for the SDKs and a proxy for other programs.

Both work on the HTTP request and its response, so everything else that the SDK or the program does stays the same.
"""
