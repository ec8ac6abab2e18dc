"""Pairwise losses in score space."""
