"""What `dev.py` does that takes more than a line; nothing of it is handed out."""
