"""Additive models: a curve for each column, levels for categories, and pairs of columns."""
