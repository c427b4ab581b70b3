"""One engine for a test that would prove the same on the other."""

import pytest

ON_SQLITE = pytest.mark.parametrize("furnished_store", ["sqlite"], indirect=True, scope="module")
"""How a request is read and written, and what is refused before a store is asked for it."""
ON_POSTGRES = pytest.mark.parametrize(
    "furnished_store", ["postgres"], indirect=True, scope="module"
)
"""What is about the engine with many writers: on SQLite there is one, whatever it writes."""
HOST_ON_SQLITE = pytest.mark.parametrize("served_host", ["sqlite"], indirect=True, scope="session")
"""What a command refuses before it opens a store."""
