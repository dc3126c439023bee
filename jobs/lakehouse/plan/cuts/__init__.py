"""Cuts: what is staged, announced and published, and how far it is behind."""
