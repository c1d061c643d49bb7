"""Stores: they keep records and do nothing clever."""
