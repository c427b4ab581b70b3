"""Changes of many variables at once: `actions/apply` and `actions/copy` of a workspace."""
