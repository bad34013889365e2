"""What a WEBRC receiver makes of a file's packets: the FDT first, then symbols until the file is whole."""

from hosts.protocols.webrc.fdt import FileDescription, parse_fdt
from hosts.protocols.webrc.objects import ObjectDecoder
from hosts.protocols.webrc.packets import FDT_TOI, NO_CODE, OBJECT_TOI, RAPTORQ, Alc
from hosts.wire.header import PacketError


class Download:
    """One file of one session."""

    def __init__(self) -> None:
        self.decoder: ObjectDecoder | None = None
        """None until the FDT has come."""
        self._description: FileDescription | None = None
        self.early = 0
        """Packets of the file that came before the FDT and were of no use."""

    def add(self, packet: Alc) -> bytes | None:
        """Take a packet; the whole stream (manifest and file) when it is whole. PacketError: it cannot be used.
        FileError: the file cannot."""
        if packet.toi == FDT_TOI:
            if self.decoder is None:
                self._described(packet)
            return None
        if packet.toi != OBJECT_TOI or packet.encoding != RAPTORQ:
            raise PacketError("object")
        if self.decoder is None:
            self.early += 1
            return None
        if not self.decoder.add(packet.payload_id, packet.symbol):
            return None
        return self._stream()

    def _described(self, packet: Alc) -> None:
        # Our sender's FDT is one symbol; a longer one of somebody else's is not put together.
        if packet.fdt_instance is None or packet.encoding != NO_CODE or packet.fdt_bytes != len(packet.symbol):
            raise PacketError("fdt")
        self._description = parse_fdt(packet.symbol)
        self.decoder = ObjectDecoder(self._description.layout)

    def _stream(self) -> bytes:
        assert self.decoder is not None
        assert self._description is not None
        data = self.decoder.data
        return self._description.manifest(data).encode() + data
