"""Judges the memory writer on real conversations with recorded answers of a strong model."""
