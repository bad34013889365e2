"""P4Runtime's binary strings (specification, "Bytestrings"): big-endian, any length in, the shortest string out."""

from engine.switch.p4runtime.errors import out_of_range


def decode(value: bytes, width: int, what: str) -> int:
    """The unsigned integer in `value`, which must fit `width` bits; `what` names the field in the error.

    Leading zero bytes are accepted, an empty string is not. Raises OUT_OF_RANGE."""
    if not value:
        raise out_of_range(f"{what}: empty byte string")
    number = int.from_bytes(value, "big")
    if number.bit_length() > width:
        raise out_of_range(f"{what}: {number:#x} does not fit {width} bits")
    return number


def encode(number: int) -> bytes:
    """The canonical string of an unsigned integer: no leading zero byte, and one zero byte for 0."""
    return number.to_bytes(max(1, (number.bit_length() + 7) // 8), "big")


def encode_signed(number: int) -> bytes:
    """The canonical string of a signed integer: the shortest two's complement."""
    # A negative n needs as many bits as ~n, and both need one for the sign.
    magnitude = number if number >= 0 else ~number
    return number.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)


def to_signed(number: int, width: int) -> int:
    """Read the low `width` bits of `number` as two's complement."""
    return number - (1 << width) if number >> (width - 1) & 1 else number


def canonical(value: bytes) -> bytes:
    """The canonical form of an unsigned string of any length, the empty one included."""
    return encode(int.from_bytes(value, "big"))


def padded(number: int, width: int) -> bytes:
    """`number` in the fixed number of bytes that a field of `width` bits takes, as the data plane wants it."""
    return number.to_bytes((width + 7) // 8, "big")
