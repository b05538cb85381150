"""All events and errors that Kibi itself reports."""

from kibi.eager import inference_events
from kibi.eager.events import EventType
from kibi.eager.memory import allocator
from kibi.eager.tensors import events as tensor_events


def own_events() -> tuple[EventType, ...]:
    """The events and errors of allocators, tensors and inferences, by name.

    Their ids differ at each width, 1 byte too, so that a log of any width can be decoded. A new one needs a name whose id is
    free; a test tells. Names that uTensor has are uTensor's.
    """
    modules = (allocator, tensor_events, inference_events)
    found = {each for module in modules for each in vars(module).values() if isinstance(each, EventType)}
    return tuple(sorted(found, key=lambda each: each.name))
