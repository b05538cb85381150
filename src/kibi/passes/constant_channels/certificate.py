"""All claims of the removal of constant channels, for `certificate_check` to verify."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Removal:
    """One channel, along a tensor's last axis, that was removed.

    Attributes:
        tensor: index of the tensor.
        channel: its number among the tensor's channels before the removal.
        values: the channel's values for every model input: one value for all positions, or one for each position in order.
            Empty: the channel may hold any value, but no remaining multiplication reads it.
    """

    tensor: int
    channel: int
    values: tuple[int, ...] = ()

    @property
    def is_constant(self) -> bool:
        """True if the channel is claimed to be constant; else to be unused."""
        return bool(self.values)


@dataclass(frozen=True, slots=True)
class Certificate:
    """All channels that were removed.

    Attributes:
        removals: each once, sorted by tensor and channel.
    """

    removals: tuple[Removal, ...] = ()
