"""``python -m aucmax`` is the command line."""

from .cli.app import main

main()
