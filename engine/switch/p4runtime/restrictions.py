"""Restrictions on entries and on actions' arguments: @entry_restriction and @action_restriction.

The language is that of p4-constraints (https://github.com/p4lang/p4-constraints, docs/language-specification.md). A
restriction is checked and turned into functions when the program is loaded; one that makes no sense is refused then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import TypeAlias

from engine.switch.p4runtime.errors import invalid_argument

Value: TypeAlias = int | tuple[int, int]
"""A number, or value and mask (ternary, optional), value and prefix length (lpm), lowest and highest value (range)."""

Values: TypeAlias = Mapping[str, Value]
"""By the key's or the parameter's name; the priority is `::priority`."""

PRIORITY = "::priority"

ENTRY = re.compile(r"@entry_restriction\s*\((?P<text>.*)\)\s*", re.DOTALL)
ACTION = re.compile(r"@action_restriction\s*\((?P<text>.*)\)\s*", re.DOTALL)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_TOKEN = re.compile(
    r"""(?P<space>(?:\s|//[^\n]*|/\*.*?\*/)+)
    |(?P<numeral>0[bB][01]+|0[oO][0-7]+|0[xX][0-9a-fA-F]+|(?:0[dD])?[0-9]+)(?![0-9a-zA-Z_])
    |(?P<name>[_a-zA-Z][_a-zA-Z0-9]*(?:\.[_a-zA-Z][_a-zA-Z0-9]*)*)
    |(?P<text>'[^']*')
    |(?P<sign>::|->|&&|\|\||==|!=|>=|<=|[<>!();-])""",
    re.VERBOSE | re.DOTALL,
)
_MAX_DEPTH = 50  # of nested parentheses and signs: a restriction comes from the network

# What may follow `::` of a key of each kind, with the value's place in the pair.
_PARTS = {
    "ternary": {"value": 0, "mask": 1},
    "optional": {"value": 0, "mask": 1},
    "lpm": {"value": 0, "prefix_length": 1},
    "range": {"low": 0, "high": 1},
}
_COMPARISONS: dict[str, Callable[[Value, Value], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,  # type: ignore[operator]  # never of pairs
    "<=": lambda a, b: a <= b,  # type: ignore[operator]
    ">": lambda a, b: a > b,  # type: ignore[operator]
    ">=": lambda a, b: a >= b,  # type: ignore[operator]
}


class _RestrictionError(ValueError):
    """A restriction that is none. The message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Type:
    """`kind`: bool, int (of any size), bit, or a match kind: exact, ternary, optional, lpm, range; `width` in bits."""

    kind: str
    width: int = 0

    def __str__(self) -> str:
        return self.kind if not self.width else f"{self.kind}<{self.width}>"


BOOL, INT = Type("bool"), Type("int")


@dataclass(frozen=True, slots=True)
class Restriction:
    """All that must hold of `owner`, each part with its text."""

    owner: str
    parts: tuple[tuple[str, Callable[[Values], Value]], ...] = ()

    def check(self, values: Values) -> None:
        """Raises INVALID_ARGUMENT with the first part that does not hold."""
        for text, holds in self.parts:
            if not holds(values):
                raise invalid_argument(f"{self.owner}: against its restriction: {text}")


def annotated(annotations: Iterable[str], kind: re.Pattern[str]) -> str | None:
    """The text of a restriction among P4Info's annotations; of several all must hold."""
    found = [match["text"] for text in annotations if (match := kind.fullmatch(text.strip()))]
    texts = ["".join(re.sub(r"\\(.)", r"\1", part) for part in _STRING.findall(text)) for text in found]
    return "\n;".join(texts) if texts else None


def checked_restriction(text: str | None, types: Mapping[str, Type], owner: str) -> Restriction:
    """The restriction that `text` states of values of these types; none where there is no text. Raises INVALID_ARGUMENT
    for what is not one."""
    try:
        return Restriction(owner, _Compiler(text, types).parts() if text is not None else ())
    except _RestrictionError as error:
        raise invalid_argument(f"P4Info: the restriction of {owner}: {error}") from None


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    begin: int


@dataclass(frozen=True, slots=True)
class _Typed:
    """An expression: its type, and its value for an entry."""

    type: Type
    value: Callable[[Values], Value]


class _Compiler:
    """By recursive descent; each method takes the tokens of one rule, loosest binding first."""

    def __init__(self, text: str, types: Mapping[str, Type]) -> None:
        self._text = text
        self._types = types
        self._tokens = self._split()
        self._at = 0
        self._depth = 0

    def _split(self) -> list[_Token]:
        tokens, at = [], 0
        while at < len(self._text):
            match = _TOKEN.match(self._text, at)
            if match is None:
                raise _RestrictionError(f"{self._text[at : at + 20]!r} is not understood")
            if match.lastgroup != "space":
                tokens.append(_Token(str(match.lastgroup), match.group(), at))
            at = match.end()
        return [*tokens, _Token("end", "", at)]

    def _take(self, *signs: str) -> str | None:
        """The next token if it is one of these signs."""
        token = self._tokens[self._at]
        if token.kind != "sign" or token.text not in signs:
            return None
        self._at += 1
        return token.text

    def _error(self, expected: str) -> _RestrictionError:
        found = self._tokens[self._at]
        return _RestrictionError(f"{expected} expected, not {found.text or 'the end'!r}")

    def parts(self) -> tuple[tuple[str, Callable[[Values], Value]], ...]:
        """All that must hold, each with its text."""
        parts = []
        while self._tokens[self._at].kind != "end":
            if self._take(";"):
                continue
            begin = self._tokens[self._at].begin
            holds = self._boolean(self._implication(), ";")
            text = " ".join(self._text[begin : self._tokens[self._at].begin].split())
            parts.append((text, holds.value))
            if self._tokens[self._at].kind != "end" and not self._take(";"):
                raise self._error("an operator or ';'")
        return tuple(parts)

    def _several(self) -> _Typed:
        """Within parentheses: parts with `;` in between."""
        parts = [self._implication()]
        while self._take(";"):
            if self._tokens[self._at].text == ")":
                break
            parts.append(self._implication())
        return parts[0] if len(parts) == 1 else _all([self._boolean(part, ";") for part in parts])

    def _implication(self) -> _Typed:
        left = self._disjunction()
        if not self._take("->"):
            return left
        right = self._boolean(self._disjunction(), "->")
        if self._take("->"):
            raise _RestrictionError("a -> b -> c needs parentheses")
        condition = self._boolean(left, "->").value
        return _Typed(BOOL, lambda values: not condition(values) or bool(right.value(values)))

    def _disjunction(self) -> _Typed:
        parts = [self._conjunction()]
        while self._take("||"):
            parts.append(self._conjunction())
        if len(parts) == 1:
            return parts[0]
        checks = [self._boolean(part, "||").value for part in parts]
        return _Typed(BOOL, lambda values: any(check(values) for check in checks))

    def _conjunction(self) -> _Typed:
        parts = [self._comparison()]
        while self._take("&&"):
            parts.append(self._comparison())
        return parts[0] if len(parts) == 1 else _all([self._boolean(part, "&&") for part in parts])

    def _comparison(self) -> _Typed:
        left = self._unary()
        sign = self._take(*_COMPARISONS)
        if sign is None:
            return left
        right = self._unary()
        if self._take(*_COMPARISONS):
            raise _RestrictionError("a comparison of a comparison needs parentheses")
        left, right = _unified(left, right, sign)
        if sign not in ("==", "!=") and left.type.kind not in ("int", "bit", "exact"):
            raise _RestrictionError(f"{sign} is not of {left.type}")
        compare, a, b = _COMPARISONS[sign], left.value, right.value
        return _Typed(BOOL, lambda values: compare(a(values), b(values)))

    def _unary(self) -> _Typed:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _RestrictionError(f"nested more than {_MAX_DEPTH} times")
        try:
            if self._take("!"):
                inner = self._boolean(self._unary(), "!").value
                return _Typed(BOOL, lambda values: not inner(values))
            if self._take("-"):
                return _negative(self._unary())
            return self._primary()
        finally:
            self._depth -= 1

    def _primary(self) -> _Typed:
        token = self._tokens[self._at]
        if self._take("("):
            inner = self._several()
            if not self._take(")"):
                raise self._error("')'")
            return inner
        if self._take("::"):
            return self._attribute()
        self._at += 1
        if token.kind == "numeral":
            number = int(token.text[2:]) if token.text[:2] in ("0d", "0D") else _number(token.text)
            return _Typed(INT, lambda _: number)
        if token.kind != "name":
            self._at -= 1
            raise self._error("a value")
        if token.text in ("true", "false"):
            return _Typed(BOOL, lambda _: token.text == "true")
        if token.text in _ADDRESSES and self._take("("):
            return self._address(token.text)
        return self._key(token.text)

    def _attribute(self) -> _Typed:
        token = self._tokens[self._at]
        name = f"::{token.text}"
        if token.kind != "name" or name not in self._types:
            raise self._error("an attribute that there is")
        self._at += 1
        return _Typed(self._types[name], lambda values: values[name])

    def _address(self, kind: str) -> _Typed:
        token = self._tokens[self._at]
        if token.kind != "text":
            raise self._error("an address in single quotes")
        self._at += 1
        try:
            number = _ADDRESSES[kind](token.text[1:-1])
        except ValueError as error:
            raise _RestrictionError(f"{token.text} is not an address: {error}") from None
        if not self._take(")"):
            raise self._error("')'")
        return _Typed(INT, lambda _: number)

    def _key(self, name: str) -> _Typed:
        type_ = self._types.get(name)
        if type_ is None:
            raise _RestrictionError(f"there is no {name}")
        if not self._take("::"):
            return _Typed(type_, lambda values: values[name])
        part = self._tokens[self._at].text
        self._at += 1
        if part == "value" and type_.kind == "exact":
            return _Typed(Type("bit", type_.width), lambda values: values[name])
        place = _PARTS.get(type_.kind, {}).get(part)
        if place is None:
            raise _RestrictionError(f"{name} ({type_}) has no {part!r}")

        def read(values: Values) -> Value:
            pair = values[name]
            return pair[place] if isinstance(pair, tuple) else pair

        return _Typed(INT if part == "prefix_length" else Type("bit", type_.width), read)

    @staticmethod
    def _boolean(expression: _Typed, sign: str) -> _Typed:
        if expression.type != BOOL:
            raise _RestrictionError(f"{sign} needs something true or false, not {expression.type}")
        return expression


def _all(parts: Sequence[_Typed]) -> _Typed:
    checks = [part.value for part in parts]
    return _Typed(BOOL, lambda values: all(check(values) for check in checks))


def _number(text: str) -> int:
    return int(text) if text.isdigit() else int(text, 0)


def _mac(text: str) -> int:
    if not re.fullmatch(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}", text):
        raise ValueError("six bytes with colons in between expected")
    return int(text.replace(":", ""), 16)


_ADDRESSES: dict[str, Callable[[str], int]] = {
    "ipv4": lambda text: int(IPv4Address(text)),
    "ipv6": lambda text: int(IPv6Address(text)),
    "mac": _mac,
}


def _negative(inner: _Typed) -> _Typed:
    if inner.type != INT:
        raise _RestrictionError(f"- is not of {inner.type}")
    value = inner.value
    return _Typed(INT, lambda values: -value(values))  # type: ignore[operator]  # an int


def _unified(a: _Typed, b: _Typed, sign: str) -> tuple[_Typed, _Typed]:
    """Both as one type: a number becomes a word, a word an exact key, and that any key that matches nothing else."""
    if a.type != b.type:
        a, b = (_cast(a, b.type) or a), (_cast(b, a.type) or b)
    if a.type != b.type:
        raise _RestrictionError(f"{sign} of {a.type} and {b.type}")
    return a, b


def _cast(expression: _Typed, to: Type) -> _Typed | None:
    order = ("int", "bit", "exact")
    kind, value, width = expression.type.kind, expression.value, to.width
    if kind not in order or to == BOOL or (kind != "int" and expression.type.width != width):
        return None
    if to.kind in order:
        if order.index(kind) > order.index(to.kind):
            return None
        return _Typed(to, lambda values: value(values) % (1 << width))  # type: ignore[operator]  # an int
    second = {"lpm": width, "range": None}.get(to.kind, (1 << width) - 1)

    def pair(values: Values) -> Value:
        number = value(values)
        assert isinstance(number, int)
        number %= 1 << width
        return number, number if second is None else second

    return _Typed(to, pair)
