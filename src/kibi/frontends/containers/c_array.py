"""Models in C source: arrays of bytes, as `xxd -i`, TensorFlow's guides and Edge Impulse write them.

The text is not compiled. It is searched for definitions `NAME[…] = {numbers}`; what the preprocessor would change is not known.
"""

import re
from collections.abc import Iterator

import numpy as np

from kibi.frontends.containers.choice import ContainerError, Found
from kibi.frontends.formats import TFLITE

MOST_BYTES = 1 << 28
"""The most bytes of C source that are read: a model of 50 MB takes about as many."""
_IDENTIFIER = slice(4, 8)
_CUT = "Export the model again, or download it again"
# A text in quotation marks, which may hold what looks like a comment, or a comment. Each has an end in any case: so time is linear.
_QUOTED_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])*\'?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_BEGINNING = re.compile(r"=\s*\{")
_NAMED = re.compile(r"([A-Za-z_]\w*)\s*\[([^][]*)\]")
_NUMBER = re.compile(r"\s*([+-]?)(0[xX][0-9a-fA-F]{1,8}|\d{1,10})[uUlL]{0,3}\s*")
_LONGEST_DECLARATION = 1024
_FIRST_NUMBERS = 256


def arrays(data: bytes) -> list[Found]:
    """The arrays of C source that begin as a `.tflite` file does, in their order.

    Args:
        data: the source, in UTF-8 or any encoding that has ASCII's characters.

    Raises:
        ContainerError: it is too large.
    """
    if len(data) > MOST_BYTES:
        what = f"the C source has {len(data):,} bytes; at most {MOST_BYTES:,} are read"
        raise ContainerError(what, "Give the .tflite file that it was made from")
    text = _QUOTED_OR_COMMENT.sub(" ", data.decode("utf-8", errors="replace"))
    return [
        Found(name, lambda name=name, size=size, body=body: _bytes(name, size, body))  # type: ignore[misc]
        for name, size, body in _definitions(text)
        if _begins_as_model(body)
    ]


def _definitions(text: str) -> Iterator[tuple[str, str, str]]:
    """Yields each array's name, its size as it is declared, and the text of its elements."""
    end = 0
    for beginning in _BEGINNING.finditer(text):
        if beginning.start() < end:  # within the elements of another one
            continue
        end = text.find("}", beginning.end())
        if end < 0:
            end = len(text)  # the file was cut: whoever reads the elements says so
        before = text[max(0, beginning.start() - _LONGEST_DECLARATION) : beginning.start()]
        named = _NAMED.search(before, max(before.rfind(each) for each in ";{}") + 1)
        if named is not None:
            closed = text[beginning.end() : end + 1]
            yield named[1], named[2].strip(), closed


def _begins_as_model(body: str) -> bool:
    first = body[:_FIRST_NUMBERS].split(",")[:8]
    numbers = [_NUMBER.fullmatch(each) for each in first]
    if len(first) < 8 or any(number is None for number in numbers):
        return False
    return bytes(_value(number) & 0xFF for number in numbers if number is not None)[_IDENTIFIER] == TFLITE


def _value(number: re.Match[str]) -> int:
    digits = number[2]
    base = 16 if digits[:2] in ("0x", "0X") else 8 if len(digits) > 1 and digits[0] == "0" else 10
    try:
        value = int(digits, base)
    except ValueError:  # 08 is no number in C
        raise ContainerError(f"{digits} is no number in C", _CUT) from None
    return -value if number[1] == "-" else value


def _bytes(name: str, size: str, body: str) -> bytes:
    """The elements of an array.

    Raises:
        ContainerError: they are not bytes, or fewer or more than the array is declared to have.
    """
    if not body.endswith("}"):
        raise ContainerError(f"the array {name} has no end: the file was cut", _CUT)
    elements = body[:-1].split(",")
    if not elements[-1].strip():
        elements.pop()
    values = np.empty(len(elements), np.int64)
    for place, element in enumerate(elements):
        number = _NUMBER.fullmatch(element)
        if number is None:
            what = f"element {place} of the array {name} is no number: {element.strip()[:32]!r}"
            raise ContainerError(what, "Give the .tflite file that it was made from")
        values[place] = _value(number)
    if values.size and not (values.min() >= -128 and values.max() <= 255):
        raise ContainerError(f"the array {name} has elements that are no bytes", _CUT)
    declared = _NUMBER.fullmatch(size)
    if declared is not None and _value(declared) != len(elements):
        what = f"the array {name} is declared with {_value(declared)} elements and has {len(elements)}"
        raise ContainerError(what, _CUT)
    return values.astype(np.uint8).tobytes()
