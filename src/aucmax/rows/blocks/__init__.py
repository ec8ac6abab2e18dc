"""Rows that come block by block."""
