"""C text that reports events: nothing at all unless whoever compiles it asks for them."""

from kibi.runtime.events import EventType
from kibi.runtime.inference_events import ERRORS


def report(event: EventType, indent: int = 1) -> str:
    """The statement that reports an event."""
    return f"{'    ' * indent}KIBI_EVENT({event.name}, 0x{event.id():08x}u);\n"


def refuse(condition: str, status: str, indent: int = 1) -> str:
    """The statement that returns an error, and reports it, where a condition holds."""
    error, space = ERRORS[status], "    " * indent
    return (
        f"{space}if ({condition}) {{\n{space}    KIBI_ERROR({error.name}, 0x{error.id():08x}u);\n"
        f"{space}    return {status};\n{space}}}\n"
    )
