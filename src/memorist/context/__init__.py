"""Assembles a request to a model: within its token budget, with whole tool exchanges, stable for prompt caches.

Import from its modules: this one is empty, so that counting the tokens of one message loads little.
"""
