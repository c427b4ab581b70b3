"""`access`: who may read and write the variables of a workspace."""

import typer


def access(context: typer.Context) -> None:
    """Show it."""
