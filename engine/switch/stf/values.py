"""Numbers and patterns, as tests write them: 10, 0x0a, 0b1010, 0o12, and `*` for a digit that does not matter."""

from engine.switch.stf.errors import StfError

BITS_PER_DIGIT = {"0x": 4, "0o": 3, "0b": 1}


def number(text: str, width: int, what: str) -> int:
    """An unsigned number of at most `width` bits; a negative one is its two's complement."""
    try:
        value = int(text, 0)
    except ValueError:
        # Decimal numbers may have leading zeros here, unlike in Python.
        if not text.isdecimal():
            raise StfError(f"{what}: `{text}` is not a number") from None
        value = int(text)
    if value < 0:
        value += 1 << width
    if not 0 <= value < 1 << width:
        raise StfError(f"{what}: {text} does not fit {width} bits")
    return value


def ternary(text: str, width: int, what: str) -> tuple[int, int]:
    """(value, mask) of `0x12**`, of `0x12&&&0xff`, or of a plain number, which has to match in all bits."""
    value, separator, mask = text.partition("&&&")
    if separator:
        return number(value, width, what), number(mask, width, what)
    if "*" in text:
        return _pattern(text, width, what)
    return number(text, width, what), (1 << width) - 1


def prefix(text: str, width: int, what: str) -> tuple[int, int]:
    """(value, prefix length) of `0x0a000000/8`, of `0x0a******`, or of a plain number, whose prefix is all of it."""
    value, separator, length = text.partition("/")
    if separator:
        return number(value, width, what), int(number(length, 32, what))
    if "*" in text:
        value_bits, mask = _pattern(text, width, what)
        length_bits = mask.bit_count()
        if mask != ((1 << length_bits) - 1) << (width - length_bits):
            raise StfError(f"{what}: `{text}` is not a prefix")
        return value_bits, length_bits
    return number(text, width, what), width


def interval(text: str, width: int, what: str) -> tuple[int, int]:
    """(low, high) of `1->5`, or of a plain number."""
    low, separator, high = text.partition("->")
    first = number(low, width, what)
    return first, number(high, width, what) if separator else first


def _pattern(text: str, width: int, what: str) -> tuple[int, int]:
    """(value, mask) of a number with wildcard digits."""
    bits = BITS_PER_DIGIT.get(text[:2].lower())
    if bits is None:
        raise StfError(f"{what}: `{text}` has wildcards, and so has to be hexadecimal, octal or binary")
    value = mask = 0
    for digit in text[2:]:
        value, mask = value << bits, mask << bits
        if digit != "*":
            try:
                value |= int(digit, 1 << bits)
            except ValueError:
                raise StfError(f"{what}: `{text}` is not a number") from None
            mask |= (1 << bits) - 1
    # The first digit may reach beyond the field, as in 0x1******* for 29 bits.
    if value >> width:
        raise StfError(f"{what}: {text} does not fit {width} bits")
    return value, mask & ((1 << width) - 1)
