"""C text that reports events: nothing at all unless whoever compiles it asks for them."""

from kibi.eager.events import EventType
from kibi.eager.inference_events import ERRORS
from kibi.text.c import CCode, code, hexadecimal, word


def report(event: EventType, indent: int = 1) -> CCode:
    """The statement that reports an event."""
    space = code("").join([code("    ")] * indent)
    return code("${space}KIBI_EVENT($name, $id);\n", space=space, name=word(event.name), id=hexadecimal(event.id()))


def fail(status: str, indent: int = 1) -> CCode:
    """The statements that report an error, and return it."""
    error = ERRORS[status]
    return code(
        "${space}KIBI_ERROR($error, $id);\n${space}return $status;\n",
        space=code("").join([code("    ")] * indent),
        error=word(error.name),
        id=hexadecimal(error.id()),
        status=word(status),
    )


def refuse(condition: CCode, status: str, indent: int = 1, *, result: CCode | None = None) -> CCode:
    """The statement that returns an error, and reports it, where a condition holds.

    Args:
        condition: in C.
        status: the status code of the error.
        indent: how often the statement is indented.
        result: what is returned; None: the status code.
    """
    error = ERRORS[status]
    return code(
        """\
${space}if ($condition) {
${space}    KIBI_ERROR($error, $id);
${space}    return $status;
${space}}
""",
        space=code("").join([code("    ")] * indent),
        condition=condition,
        error=word(error.name),
        id=hexadecimal(error.id()),
        status=word(status) if result is None else result,
    )
