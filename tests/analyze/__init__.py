"""Tests of the static analyser."""
