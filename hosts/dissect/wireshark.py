"""`canopy wireshark`: the dissector of Canopy's packets for Wireshark and tshark, as one Lua script.

There is one description of the packets, hosts/dissect/layers.py; this module writes its layers down as Lua tables, in
front of the code that walks through them (hosts/dissect/canopy.lua).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer
from scapy.fields import BitField, FieldLenField, IPField, PacketListField, StrLenField, _EnumField
from scapy.packet import Packet

from engine.command.exits import EXIT_BAD_INPUT
from hosts.dissect import layers as dissect

# Where Wireshark looks for a user's own plugins ("Personal Lua Plugins" in its Help, About, Folders).
PLUGINS = Path.home() / ".local/lib/wireshark/plugins"
NAME = "canopy.lua"

_MARK = "--@TABLES@\n"

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def main() -> None:
    """The dissector of Canopy's packets for Wireshark and tshark."""


@app.command()
def install(
    folder: Annotated[Path, typer.Option(help="Wireshark's folder for plugins.")] = PLUGINS,
) -> None:
    """Put the dissector where Wireshark and tshark find it, in place of an older one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / NAME).write_text(plugin())
    except OSError as error:
        typer.echo(f"canopy wireshark: {error.filename or folder}: {error.strerror}", err=True)
        raise typer.Exit(EXIT_BAD_INPUT) from None
    typer.echo(f"{folder / NAME}: Wireshark has it from its next start on")


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
    items: dict[type[Packet], str] = {}
    protocols = []
    for number, protocol in dissect.LAYERS.items():
        name = dissect.PROTOCOLS[number]
        kinds = [f"[{int(kind)}] = {_lua(kind.name)}" for kind in protocol]
        layers = {layer: _layer(name, layer, items) for layer in protocol.values()}
        # ACK and NACK are one layer: one table, so that its fields are made once.
        local = {layer: f"layer_{number}_{place}" for place, layer in enumerate(layers)}
        types = [f"[{int(kind)}] = {local[layer]}" for kind, layer in protocol.items()]
        definitions = "".join(f"local {local[layer]} = {text}\n" for layer, text in layers.items())
        names = "".join(f"{variable}.types = {{ {', '.join(kinds)} }}\n" for variable in local.values())
        entry = f"[{number}] = {{ name = {_lua(name)}, types = {{ {', '.join(types)} }} }}"
        protocols.append((definitions + names, entry))
    inner = "".join(f"local {_variable(layer)} = {text}\n" for layer, text in items.items())
    definitions = "".join(text for text, _ in protocols)
    return (
        f"{inner}{definitions}local PROTOCOLS = {{\n    {f',{chr(10)}    '.join(entry for _, entry in protocols)}\n}}\n"
    )


def _variable(layer: type[Packet]) -> str:
    return f"item_{layer.__name__}"


def _layer(protocol: str, layer: type[Packet], items: dict[type[Packet], str]) -> str:
    """One layer as a table; those of its lists are added to `items`."""
    title = str(layer._name)  # a Scapy class keeps its name there
    name = title.removeprefix(protocol).strip().lower().replace(" ", "_")
    description: list[Any] = layer.fields_desc
    lengths = {field.length_of: field.name for field in description if isinstance(field, FieldLenField)}
    counts = {field.count_of: field.name for field in description if isinstance(field, FieldLenField)}
    fields = []
    for field in description:
        table: dict[str, Any] = {"name": field.name}
        if isinstance(field, PacketListField):
            item: Any = field.cls
            items[item] = _layer(protocol, item, items)
            table |= {"kind": "list", "count": counts[field.name], "item": _Name(_variable(item))}
        elif isinstance(field, StrLenField):
            table |= {"kind": "bytes", "length": lengths[field.name]}
        elif isinstance(field, BitField):
            table |= {"kind": "narrow" if field.size % 8 else "bytes", "bits": field.size}
        elif isinstance(field, IPField):
            table |= {"kind": "ipv4", "bits": 32}
        else:
            table |= {"kind": "uint64" if field.sz == 8 else "uint", "bits": 8 * field.sz}
            if isinstance(field, _EnumField):
                names: Any = field.i2s
                table["values"] = dict(names)
        fields.append("        " + _lua(table))
    body = ",\n".join(fields)
    head = f'    title = {_lua(title)}, filter = "canopy.{protocol.lower()}.{name}",'
    return f"{{\n{head}\n    fields = {{\n{body}\n    }},\n}}"


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
