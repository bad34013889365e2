"""HalfSipHash-2-4 as its authors write it, of bytes, least byte first: what program and hosts must agree with."""

_MASK = 0xFFFFFFFF


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & _MASK


def _round(v: list[int]) -> None:
    v[0] = v[0] + v[1] & _MASK
    v[1] = _rotated(v[1], 5) ^ v[0]
    v[0] = _rotated(v[0], 16)
    v[2] = v[2] + v[3] & _MASK
    v[3] = _rotated(v[3], 8) ^ v[2]
    v[0] = v[0] + v[3] & _MASK
    v[3] = _rotated(v[3], 7) ^ v[0]
    v[2] = v[2] + v[1] & _MASK
    v[1] = _rotated(v[1], 13) ^ v[2]
    v[2] = _rotated(v[2], 16)


def half_siphash(key: bytes, message: bytes) -> bytes:
    """Eight bytes, of a key of eight bytes."""
    first, second = (int.from_bytes(key[at : at + 4], "little") for at in (0, 4))
    v = [first, second ^ 0xEE, 0x6C796765 ^ first, 0x74656462 ^ second]
    padded = message + bytes(3 - len(message) % 4) + bytes([len(message) & 0xFF])
    for at in range(0, len(padded), 4):
        word = int.from_bytes(padded[at : at + 4], "little")
        v[3] ^= word
        _round(v)
        _round(v)
        v[0] ^= word
    v[2] ^= 0xEE
    tag = b""
    for change in (0, 0xDD):
        v[1] ^= change
        for _ in range(4):
            _round(v)
        tag += (v[1] ^ v[3]).to_bytes(4, "little")
    return tag


def turned(words: bytes) -> bytes:
    """Each word of four bytes the other way round: in packets it is greatest byte first."""
    return b"".join(words[at : at + 4][::-1] for at in range(0, len(words), 4))


def hop_tag(key: int, message: bytes) -> int:
    """As the program has it: of whole words in network order, and a key of 64 bits."""
    tag = half_siphash(turned(key.to_bytes(8, "big")), turned(message))
    return int.from_bytes(turned(tag), "big")
