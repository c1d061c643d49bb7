"""Provides what the nouns that only a server has need from its process."""
