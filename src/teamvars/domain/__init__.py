"""What is true: frozen records (`msgspec.Struct`) and pure rules; no input or output."""
