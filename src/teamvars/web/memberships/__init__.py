"""Memberships of organizations, and invitations."""
