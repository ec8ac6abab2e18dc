"""The door to the data: rows behind one protocol, their class moments, their folds."""
