"""All behaviour, written once as coroutines, one module per noun; `AsyncMemory` exposes these objects directly."""
