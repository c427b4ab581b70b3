"""Commands for everybody: clients of the public API that know nothing of the service's inside."""
