"""Names of tensors in little room."""


def shortened(text: str, length: int) -> str:
    """The text in at most `length` characters; what is left out is in the middle, since names differ at their ends."""
    if len(text) <= length:
        return text
    if length < 4:
        return text[: max(length, 0)]
    tail = (length - 1) // 2
    return f"{text[: length - 1 - tail]}…{text[len(text) - tail :]}"
