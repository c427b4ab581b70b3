"""Changes: whatever was decided is looked up, carried out and recorded here, and nowhere else."""
