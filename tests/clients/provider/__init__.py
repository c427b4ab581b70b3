"""The tfe provider against a service: what it is asked to make, and what it was heard to say."""
