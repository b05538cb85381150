"""What the removal of constant channels claims, complete, so that `certificate_check` can verify each claim."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Removal:
    """One channel, along a tensor's last axis, that is gone.

    Attributes:
        tensor: index of the tensor.
        channel: its number among the tensor's channels before.
        values: what the channel holds whatever the model's inputs are: one value for all positions, or one for each position
            in order. Empty: the channel may hold anything, but no multiplication that stays reads it.
    """

    tensor: int
    channel: int
    values: tuple[int, ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether the channel is claimed to be constant; else to be unused."""
        return bool(self.values)


@dataclass(frozen=True, slots=True)
class Certificate:
    """All channels that are gone.

    Attributes:
        removals: each once, sorted by tensor and channel.
    """

    removals: tuple[Removal, ...] = ()
