"""What a generated library may have beyond one inference after the other; nothing of it costs a byte unless it is asked for."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Extras:
    """The optional parts of a library.

    Attributes:
        slices: `…_run_for` runs an inference in slices of row steps, and the model's struct keeps the place.
        lease: a word of the arena says whose bytes they are, so that calls notice that somebody else has used them.
        spare: `…_spare` says between slices which bytes of the arena are free; needs slices.
        checkpoints: `…_checkpoint` and `…_resume` save and restore an inference that has begun; needs slices.
    """

    slices: bool = False
    lease: bool = False
    spare: bool = False
    checkpoints: bool = False

    @staticmethod
    def of(*, slices: bool = False, lease: bool = False, spare: bool = False, checkpoints: bool = False) -> "Extras":
        """Returns the parts that are asked for, with those that they need."""
        return Extras(slices or spare or checkpoints, lease, spare, checkpoints)

    @property
    def counts(self) -> bool:
        """True if the model's struct counts the steps that an inference has run."""
        return self.spare or self.checkpoints

    @property
    def words(self) -> tuple[str, ...]:
        """The words of a command line that ask for these parts."""
        return tuple(f"--{field.name}" for field in fields(self) if getattr(self, field.name))


NO_EXTRAS = Extras()
"""A library of nothing but inferences."""
