"""Values to be tried, of which nothing is stored."""
