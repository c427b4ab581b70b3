"""Files of variables that are read, of which nothing is stored."""
