"""`canopy wireshark`: the dissector of Canopy's packets for Wireshark and tshark, as one Lua script.

The protocols' packages declare their packets' layouts; this module writes them down as Lua tables, in front of the code
that walks through them (hosts/dissect/canopy.lua).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer

from engine.command.fail import fail
from engine.command.lines import say
from hosts import protocols as registry
from hosts.wire.fields import Bitmap, Field, Host, Payload, Size
from hosts.wire.format import Format
from hosts.wire.header import HEADED_VERSION, HEADER_BYTES, SEALED_VERSION, VERSION
from hosts.wire.layout import Items, Layout
from hosts.wire.sealed import HOP, SEAL, SEALED, TAG_BYTES

# Where Wireshark looks for a user's own plugins ("Personal Lua Plugins" in its Help, About, Folders).
PLUGINS = Path.home() / ".local/lib/wireshark/plugins"
NAME = "canopy.lua"

_MARK = "--@TABLES@\n"

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def main() -> None:
    """The dissector of Canopy's packets for Wireshark and tshark."""


@app.command()
def install(folder: Annotated[Path, typer.Option(help="Wireshark's folder for plugins.")] = PLUGINS) -> None:
    """Put the dissector where Wireshark and tshark find it, in place of an older one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / NAME).write_text(plugin())
    except OSError as error:
        fail(f"{error.filename or folder}: {error.strerror}", of="canopy wireshark")
    say(f"{folder / NAME}: Wireshark has it from its next start on")


@app.command("print")
def show() -> None:
    """Print the dissector, for `tshark -X lua_script:FILE`."""
    typer.echo(plugin(), nl=False)


def plugin() -> str:
    """The Lua script."""
    code = resources.files("hosts.dissect").joinpath(NAME).read_text("utf-8")
    assert code.count(_MARK) == 1
    return code.replace(_MARK, _tables())


def _tables() -> str:
    """The layouts of all packets with the common header, and lists' items in front of them."""
    items: dict[str, str] = {}
    definitions, protocols = "", []
    for protocol in sorted(map(registry.get, registry.names()), key=lambda protocol: protocol.number):
        number, name = protocol.number, protocol.name
        formats = [layout for layout in protocol.packets if isinstance(layout, Format)]
        if not formats:
            continue
        local = {f"layer_{number}_{place}": one for place, one in enumerate(formats)}
        kinds = ", ".join(f"[{int(kind)}] = {_lua(kind.name)}" for one in formats for kind in one.kinds)
        types = ", ".join(f"[{int(kind)}] = {variable}" for variable, one in local.items() for kind in one.kinds)
        definitions += "".join(f"local {variable} = {_layer(name, one, items)}\n" for variable, one in local.items())
        definitions += "".join(f"{variable}.types = {{ {kinds} }}\n" for variable in local)
        heads = ", ".join(
            f"[{kind}] = {{ size = {head.size}, flags = {head.flags}, is_feedback = {str(head.is_vouched).lower()} }}"
            for kind, head in protocol.open_heads.items()
        )
        protocols.append(
            f"[{number}] = {{ name = {_lua(name.upper())}, types = {{ {types} }}, heads = {{ {heads} }} }}"
        )
    inner = "".join(f"local {variable} = {text}\n" for variable, text in items.items())
    header = f"local HEADER_BYTES = {HEADER_BYTES}\nlocal VERSION = {VERSION}\n"
    header += f"local SEALED_BYTES = {SEALED.size}\nlocal TAG_BYTES = {TAG_BYTES}\n"
    header += f"local SEALED_VERSION = {SEALED_VERSION}\nlocal HEADED_VERSION = {HEADED_VERSION}\n"
    header += f"local SEAL_BYTES = {SEAL.size}\nlocal HOP_BYTES = {HOP.size}\n\n"
    return f"{header}{inner}{definitions}local PROTOCOLS = {{\n    {f',{chr(10)}    '.join(protocols)}\n}}\n"


def _layer(protocol: str, layout: Layout[Any], items: dict[str, str]) -> str:
    """One layout as a table; those of its lists are added to `items`."""
    sizes = [field.name for field in layout.fields if isinstance(field, Size)]
    fields = []
    for name, field, _, _ in layout.places():
        table: dict[str, Any] = {"name": name}
        if isinstance(field, Items):
            variable = f"item_{protocol}_{field.layout.name}"
            items[variable] = _layer(protocol, field.layout, items)
            table |= {"kind": "list", "count": sizes[0], "item": _Name(variable)}
        elif isinstance(field, Payload):
            table |= {"kind": "bytes", "length": sizes[0]}
        else:
            table |= {"kind": _kind(field), "bits": field.bits}
            if field.names:
                table["values"] = field.names
        fields.append("        " + _lua(table))
    body = ",\n".join(fields)
    title = _lua(f"{protocol.upper()} {layout.name}")
    head = f'    title = {title}, filter = "canopy.{protocol}.{layout.name.lower()}",'
    return f"{{\n{head}\n    fields = {{\n{body}\n    }},\n}}"


def _kind(field: Field) -> str:
    if isinstance(field, Host):
        return "ipv4"
    if field.bits % 8:
        return "narrow"
    if isinstance(field, Bitmap):
        return "bytes"
    return "uint64" if field.bits == 64 else "uint"


class _Name(str):
    """A Lua variable's name, which is no text."""

    __slots__ = ()


def _lua(value: object) -> str:
    """A Python value as Lua writes it."""
    if isinstance(value, _Name):
        return str(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, Mapping):
        pairs = (
            f"[{key}] = {_lua(inner)}" if isinstance(key, int) else f"{key} = {_lua(inner)}"
            for key, inner in value.items()
        )
        return "{ " + ", ".join(pairs) + " }"
    raise TypeError(f"{value!r} has no counterpart in Lua")
