"""Mail: how a message is written, and how it goes to the operator's server."""
