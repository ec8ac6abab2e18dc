"""``python -m aucmax`` is the command line."""

from .cli.app import run

run()
