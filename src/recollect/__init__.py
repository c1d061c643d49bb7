"""Recollect: memory and context for LLM agents."""
