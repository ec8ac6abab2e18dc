"""One file for each command of `aucmax`, named after it.

A parameter of a command has the name of the Python argument that it becomes, so that errors can name its flag.
"""
