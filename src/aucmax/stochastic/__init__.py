"""The frame of the stochastic algorithms."""
