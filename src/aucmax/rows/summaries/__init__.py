"""Summaries of rows that merge: moments, scores, rankings."""
