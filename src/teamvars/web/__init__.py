"""HTTP: JSON:API documents, errors and their status, negotiation, routes."""
