"""Whether new rows are still like the training rows of a model."""
