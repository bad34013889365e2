"""A protocol's package is all that dissectors need: nothing of them names a protocol."""

import subprocess
import sys
from pathlib import Path

PACKAGE = '''
import enum
from typing import NamedTuple

from hosts.protocol import Protocol
from hosts.wire.format import Format
from hosts.wire.fields import Number, Payload, Size


class Type(enum.IntEnum):
    HELLO = 3


class Hello(NamedTuple):
    """Somebody is there."""

    session: int
    age_s: int
    text: bytes


AGE = Number("age_s", 16, "since it began")
HELLO = Format(99, Type.HELLO, Hello, AGE, Size("length", 8, "of the text", of="text"), Payload("text"))
PROTOCOL = Protocol("sixth", 99, (HELLO,), object, None, None)
'''
PROGRAM = """
import sys
from hosts import protocols
protocols.__path__.append(sys.argv[1])
from hosts.dissect import layers, table, wireshark
from hosts.protocols.sixth import HELLO, Hello
layer = layers.CanopyHeader(HELLO.encode(Hello(7, 60, b"me")))
print(layer["SIXTH HELLO"].age_s, layer["SIXTH HELLO"].text)
print([line for line in table.page().splitlines() if "age_s" in line])
print([line.strip() for line in wireshark.plugin().splitlines() if "sixth" in line])
"""


def test_a_sixth_protocol_has_layers_a_dissector_and_its_table(tmp_path: Path) -> None:
    package = tmp_path / "sixth"
    package.mkdir()
    (package / "__init__.py").write_text(PACKAGE)
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown.splitlines() == [
        "60 b'me'",
        "['| 8 | 16 | `age_s` | since it began |']",
        '[\'title = "SIXTH HELLO", filter = "canopy.sixth.hello",\']',
    ]
