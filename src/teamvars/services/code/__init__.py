"""Values that are code, parsed and evaluated without blocking the event loop (decision 008)."""
