"""Rows on an accelerator."""
