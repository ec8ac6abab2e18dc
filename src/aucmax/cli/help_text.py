"""Commands whose help shows no type for flags, which take no value."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup


class _PlainFlags:
    """Empties what the help says of the values of flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the command."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters


class Command(_PlainFlags, TyperCommand):
    """A command."""


class Commands(_PlainFlags, TyperGroup):
    """The command that has all others."""
