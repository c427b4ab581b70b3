"""Commands on the service's own host: they call services, as the operator."""
