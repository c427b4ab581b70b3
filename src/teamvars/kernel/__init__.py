"""What is true of a variable wherever it stands: in the service, a file or an environment."""
