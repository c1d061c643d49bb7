"""Contains the store suite, with one module per promise. `StoreConformance` combines them."""
