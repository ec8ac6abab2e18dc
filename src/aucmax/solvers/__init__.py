"""Solvers: given moments or rows and regularisation strengths, the weights."""
