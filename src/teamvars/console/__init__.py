"""The console: pages that a browser loads, which speak to the public API and to nothing else."""
