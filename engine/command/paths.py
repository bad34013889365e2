"""Arguments and options that name files: an unset variable of a shell, "$FILE", must not stand for the folder one is
in, which is what an empty path is to pathlib."""

from typing import Any

from typer.models import TyperPath


class _NamedPath(TyperPath):
    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "":
            self.fail("it is empty, and names no file or folder", param, ctx)
        return super().convert(value, param, ctx)


def refuse_empty_paths(command: Any) -> None:
    """Of a command, as typer builds it, and of those below it."""
    for parameter in command.params:
        if type(parameter.type) is TyperPath:
            parameter.type.__class__ = _NamedPath  # it keeps what it was declared with
    for below in getattr(command, "commands", {}).values():
        refuse_empty_paths(below)
