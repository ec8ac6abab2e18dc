"""Evaluations, figures and the HTML report."""
