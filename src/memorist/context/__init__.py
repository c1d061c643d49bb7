"""Assembles requests to a model that fit a token budget, keep tool exchanges whole and stay stable for prompt caches.

Import from the modules directly. This one is empty, so that counting the tokens in a message loads little code.
"""
