"""What is true: frozen dataclasses and pure rules; standard library only, no input or output."""
