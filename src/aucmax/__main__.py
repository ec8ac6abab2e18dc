"""``python -m aucmax`` is the command line."""

from .cli import main

main()
