"""JSON:API over HTTP: `http` is the engine, and each resource has a package of its own."""
