"""JSON that other programs wrote: whatever is in it, the values can be kept, counted with and sent on.

Lone surrogates become `�`; what is no finite number, or larger than a record can hold, becomes null. Deep nesting is
an error of that text, as what is no JSON.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from gshtui.system.json_types import map_texts

_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST_NUMBER = 18
"""Digits of a whole number that fits into 64 bits, whatever they are."""


def parse_foreign_json(data: str | bytes) -> Any:
    """The value. Raises `ValueError` alone."""
    try:
        value = json.loads(data, parse_int=_whole, parse_float=_finite, parse_constant=lambda _: None)
        return map_texts(value, _encodable) if isinstance(data, str) or b"\\ud" in data or b"\\uD" in data else value
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _whole(digits: str) -> int | None:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else None


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def _encodable(text: str) -> str:
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
