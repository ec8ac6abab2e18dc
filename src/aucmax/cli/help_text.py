"""Commands whose help names arguments and the values of options in words, and shows no types of Python."""

from __future__ import annotations

from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup


class _InWords:
    """Empties what the help says of the values of flags, and shows arguments by their names alone."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the command."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
            elif isinstance(parameter, TyperArgument):
                _show_name(parameter)
        return parameters


def _show_name(argument: Any) -> None:
    """Let the help show an argument by its name alone."""
    name = argument.metavar if argument.required else f"[{argument.metavar}]"
    argument.get_usage_pieces = lambda ctx: [name]
    argument.display_type_rich = lambda ctx: None
    if hasattr(argument, "type"):  # older releases of Typer show the name of the type
        argument.type.name = argument.metavar


class Command(_InWords, TyperCommand):
    """A command."""


class Commands(_InWords, TyperGroup):
    """The command that has all others."""
