"""What JavaScript does where Python does otherwise.

The real program is JavaScript; rules that rest on its text and number habits are kept here once, so that a key is
trimmed or a row ordered the way that program does it.
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

if TYPE_CHECKING:
    from collections.abc import Iterable

    JsonValue: TypeAlias = bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"] | None
else:
    # msgspec builds codecs from annotations and knows no type that holds itself; to it JSON is anything.
    JsonValue = Any

# WhiteSpace and LineTerminator of ECMA-262; str.strip() also removes U+001C–1F and U+0085, and keeps U+FEFF.
_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_ARRAY_INDEX = re.compile(r"0|[1-9][0-9]{0,9}", re.ASCII)
_MAX_ARRAY_INDEX = 2**32 - 2


def trim(text: str) -> str:
    """Return ``text`` as ``String.prototype.trim`` does."""
    return text.strip(_SPACE)


def is_number(value: object) -> TypeGuard[int | float]:
    """Tell whether a decoded JSON value is a number; in Python ``True`` is one, in JavaScript it is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_finite_number(value: object) -> TypeGuard[int | float]:
    """Tell whether ``Number.isFinite`` holds for a decoded JSON value; integers beyond a double are infinite there."""
    if not is_number(value):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def round_half_up(value: float) -> int:
    """Return ``Math.round``: halves go up, towards positive infinity."""
    # Adding a half first would round twice: it lifts 0.49999999999999994 to 1 and odd doubles above 2**52 by 1.
    floor = math.floor(value)
    return floor + 1 if value - floor >= _HALF else floor


def property_order(keys: Iterable[str]) -> list[str]:
    """Order ``keys`` as an object created from them would list them: integer-like keys first, ascending."""
    listed = list(keys)
    indices = [key for key in listed if _is_array_index(key)]
    if not indices:
        return listed
    chosen = set(indices)
    return sorted(indices, key=int) + [key for key in listed if key not in chosen]


def _is_array_index(key: str) -> bool:
    return _ARRAY_INDEX.fullmatch(key) is not None and int(key) <= _MAX_ARRAY_INDEX


def number_text(value: float) -> str:
    """Return ``String(value)`` for a JSON number: exponents only below 1e-6 and from 1e21 on."""
    try:
        double = float(value)
    except OverflowError:
        return "Infinity" if value > 0 else "-Infinity"
    if not math.isfinite(double):
        return "NaN" if math.isnan(double) else ("Infinity" if double > 0 else "-Infinity")
    size = abs(double)
    if size >= _FIRST_EXPONENT or 0 < size < _LAST_PLAIN:
        mantissa, _, exponent = repr(double).partition("e")
        return f"{mantissa}e{int(exponent):+d}" if exponent else mantissa
    if double.is_integer() and size < _FIRST_INEXACT:
        return str(int(double))
    from decimal import Decimal  # noqa: PLC0415 - costs every start what few numbers need

    text = repr(double)
    return f"{Decimal(text):f}" if "e" in text else text.removesuffix(".0")


def utf16_length(text: str) -> int:
    """Return ``text.length``: characters beyond U+FFFF count twice."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def stringified_length(source: str) -> int:
    """Return ``JSON.stringify(JSON.parse(source)).length`` in UTF-16 units.

    Numbers are written as JavaScript writes a double; a lone surrogate takes the six characters of its escape.

    Raises:
        ValueError: ``source`` is no JSON.
    """
    value = json.loads(source, strict=False, parse_float=_as_long_as, parse_int=_as_long_as)
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if written.isascii():
        return len(written)
    return utf16_length(written) + 5 * sum("\ud800" <= unit <= "\udfff" for unit in written)


def _as_long_as(literal: str) -> int:
    # A whole number of as many characters as JavaScript's spelling has; Infinity is written as null there.
    written = number_text(float(literal))
    digits = 4 if "Infinity" in written else len(written)
    return int("1" * digits)


def date_ms(value: object) -> int | None:
    """Return ``new Date(value).getTime()`` for a time as it stands in JSON; ``None`` stands for ``NaN``.

    Text without a zone counts as UTC, as a date alone does there; other text than ISO 8601 is not understood.
    """
    if is_number(value):
        return int(value) if is_finite_number(value) and abs(value) <= _LAST_DATE else None
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    # Whole-number arithmetic: a float second would round away the millisecond.
    return (time - _EPOCH) // _MILLISECOND


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_LAST_DATE = 8.64e15
_HALF = 0.5
_FIRST_INEXACT = 2**53
_FIRST_EXPONENT = 1e21
_LAST_PLAIN = 1e-6
