"""Plan files in Python, without a compiler."""

from collections.abc import Sequence

from kibi.dtypes import Array
from kibi.planfile.in_numpy.machine import Machine
from kibi.planfile.reader import PlanFile


class NumpyPlanEngine:
    """A plan file, run on NumPy kernels: each step from the file's own parameters, places and order.

    Args:
        file: the plan file.

    Raises:
        PlanError: the file is wrong, or needs a kernel that this version has not.
    """

    def __init__(self, file: PlanFile) -> None:
        self.file = file
        self._machine = Machine(file)

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """Runs one inference; without outputs if an operator ended it early.

        Args:
            inputs: an array for each input.

        Raises:
            InputError: an input does not fit.
            PlanError: the file asks for what no model may.
            LimitError: a loop took too many iterations.
        """
        return self._machine.run(self.file.checked(inputs))

    def reset(self) -> None:
        """Gives variables their first values."""
        self._machine.reset()
