"""What the stochastic algorithms share: passes over the rows, rows inside kernels, averages, buffers."""
