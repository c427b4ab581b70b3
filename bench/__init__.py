"""Measurements that anyone can repeat: each prints its figures and how it came by them."""
