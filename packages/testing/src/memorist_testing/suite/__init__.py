"""The store suite, one module per promise; `StoreConformance` puts them together."""
