"""Values that no argument or option may have, whatever it is for. An unset variable of a shell, "$FILE", must not stand
for the folder one is in, which is what an empty path is to pathlib; and nothing is more or less than `nan`, so that no
bound keeps it out, and a time of that never comes."""

import math
from typing import Any

from typer import BadParameter
from typer.models import TyperPath


def refuse_senseless(command: Any) -> None:
    """Of a command, as typer builds it, and of those below it."""
    for parameter in command.params:
        _watch(parameter)
    for below in getattr(command, "commands", {}).values():
        refuse_senseless(below)


def _watch(parameter: Any) -> None:
    cast = parameter.type_cast_value

    def checked(ctx: Any, value: Any) -> Any:
        found = cast(ctx, value)
        for one in found if isinstance(found, list | tuple) else (found,):
            if one == "" and isinstance(parameter.type, TyperPath):
                raise BadParameter("it is empty, and names no file or folder", ctx, parameter)
            if isinstance(one, float) and math.isnan(one):
                raise BadParameter("nan is no number", ctx, parameter)
        return found

    parameter.type_cast_value = checked
