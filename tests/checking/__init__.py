"""Tests of `memorist test` and `memorist eval`."""
