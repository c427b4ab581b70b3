"""Accesses: who may do what with the variables of a workspace."""
