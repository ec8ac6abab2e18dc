"""``python -m aucmax`` is the command line."""

from .cli.process import run

run()
