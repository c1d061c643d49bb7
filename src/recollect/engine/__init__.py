"""All behaviour, written once as coroutines: one module per noun. `AsyncMemory` hands these objects out as they are."""
