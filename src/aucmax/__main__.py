"""``python -m aucmax`` is the command line."""

from .cli.main import main

main()
