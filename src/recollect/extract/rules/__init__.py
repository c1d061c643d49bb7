"""The rules, by what they look for."""
