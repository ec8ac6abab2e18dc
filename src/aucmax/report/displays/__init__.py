"""The displays, one file each; `base` is what they share."""
