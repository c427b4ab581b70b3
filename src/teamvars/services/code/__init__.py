"""Values that are code, read and evaluated where they keep nobody waiting (decision 008)."""
