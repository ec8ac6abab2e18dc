"""Fitted models and checkpoints as files."""
