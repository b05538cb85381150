"""Inputs and outputs by number or name, in the way of TFLM: set inputs, invoke, read outputs."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.eager.memory import WritableBuffer
from kibi.eager.memory.lent import lent_bytes
from kibi.errors import InputError
from kibi.ir import Graph, Tensor, TensorType
from kibi.runtime.given import input_number, output_number
from kibi.runtime.inputs import check_input
from kibi.runtime.preallocated import tensor_index


class NumberedTensors(ABC):
    """The inputs and outputs of a model, each in an array.

    An input that is in a registered buffer has no other array: what is written to it is read in place. The others keep their
    values from one `invoke` to the next. The names are those of TFLM (`python/tflite_micro/runtime.py`: `set_input`, `invoke`,
    `get_output`; `micro_interpreter.h`: `input`, `output`) and of TensorFlow Lite (`set_tensor`, `get_tensor`).
    """

    def __init__(self) -> None:
        self._set: dict[int, NDArray[Any]] = {}
        self._results: tuple[NDArray[Any], ...] | None = None
        self._waits = False

    @property
    @abstractmethod
    def model(self) -> Graph:
        """The graph."""

    @property
    @abstractmethod
    def _registered(self) -> Mapping[int, NDArray[Any]]:
        """An array over each registered buffer, by tensor."""

    def input(self, index: int | str = 0) -> NDArray[Any]:
        """The array of an input, to be written in place before `invoke`; its elements are 0 at first.

        Args:
            index: the number of the input, or its name.

        Returns:
            An array with the shape and type of the input: over the registered buffer if there is one, else the interpreter's.

        Raises:
            InputError: there is no such input.
        """
        number = input_number(self.model, index)
        tensor = self.model.tensors[self.model.inputs[number]]
        if tensor.index in self._registered:
            return self._registered[tensor.index]
        if number not in self._set:
            self._set[number] = np.zeros(tensor.type.shape, tensor.type.dtype.numpy)
        return self._set[number]

    def set_input(self, input_data: Array, index: int | str = 0) -> None:
        """Copies values to an input, for `invoke`.

        Args:
            input_data: an array with the shape and type of the input.
            index: the number of the input, or its name.

        Raises:
            InputError: there is no such input, or the array has another shape or type.
        """
        number = input_number(self.model, index)
        values = check_input(self.model, number, input_data)
        self.input(number)[...] = values

    def set_tensor(self, tensor: int | str, values: Array) -> None:
        """Copies values to an input that is named by its tensor, for `invoke`.

        Args:
            tensor: the index of the tensor in the model, or its name.
            values: an array with the shape and type of the tensor.

        Raises:
            InputError: there is no such tensor, it is no input, or the array has another shape or type.
        """
        self.set_input(values, self._number_of(tensor, self.model.inputs, "input"))

    def output(self, index: int | str = 0) -> NDArray[Any]:
        """The array of an output of the last inference, not copied.

        Args:
            index: the number of the output, or its name.

        Returns:
            An array over the registered buffer if there is one; else a read-only array that no later inference changes.

        Raises:
            InputError: there is no such output, or no inference has ended with outputs.
        """
        number = output_number(self.model, index)
        tensor = self.model.outputs[number]
        if tensor in self._registered:
            return self._registered[tensor]
        if self._results is None:
            why = "an operator waits for further inputs" if self._waits else "no inference has ended"
            raise InputError(f"{self.model.source} has no outputs: {why}. Set the inputs, and call `invoke`.")
        return self._results[number]

    def get_output(self, index: int | str = 0) -> Array:
        """A copy of an output of the last inference; see `output`."""
        return self.output(index).copy()

    def get_tensor(self, tensor: int | str) -> Array:
        """A copy of an output of the last inference, or of an input that was set, which is named by its tensor.

        Raises:
            InputError: there is no such tensor, it is neither input nor output, or there are no outputs.
        """
        index = tensor_index(self.model, tensor)
        if index in self.model.outputs:
            return self.get_output(self.model.outputs.index(index))
        return self.input(self._number_of(tensor, self.model.inputs, "input or output")).copy()

    def get_input_details(self, index: int | str = 0) -> dict[str, Any]:
        """What TFLM says of an input: `shape`, `dtype`, and `quantization_parameters` with `scales` and `zero_points`.

        Raises:
            InputError: there is no such input.
        """
        return _details(self.model.tensors[self.model.inputs[input_number(self.model, index)]])

    def get_output_details(self, index: int | str = 0) -> dict[str, Any]:
        """The same for an output.

        Raises:
            InputError: there is no such output.
        """
        return _details(self.model.tensors[self.model.outputs[output_number(self.model, index)]])

    def _number_of(self, tensor: int | str, among: tuple[int, ...], role: str) -> int:
        index = tensor_index(self.model, tensor)
        if index not in among:
            listed = ", ".join(f"{each} ({self.model.tensors[each].name!r})" for each in among)
            raise InputError(
                f"tensor {tensor!r} of {self.model.source} is no {role}. The inputs are {listed or 'none'}."
            )
        return among.index(index)

    def _keep(self, outputs: list[Array] | None) -> None:
        """Keeps the outputs of an inference, or forgets them."""
        self._results = None if outputs is None else tuple(_read_only(array.copy()) for array in outputs)


def _details(tensor: Tensor) -> dict[str, Any]:
    """A tensor's shape and type in TFLM's words; `name` and `index` come from TensorFlow Lite."""
    kind, told = tensor.type, tensor.type.quantization
    return {
        "name": tensor.name,
        "index": tensor.index,
        "shape": np.array(kind.shape, np.int32),
        "dtype": kind.dtype.numpy.type,
        "quantization_parameters": {
            "scales": np.array(() if told is None else told.scales, np.float32),
            "zero_points": np.array(() if told is None else told.zero_points, np.int32),
            "quantized_dimension": 0 if told is None else told.axis,
        },
    }


def buffer_array(kind: TensorType, buffer: WritableBuffer) -> NDArray[Any]:
    """An array of a tensor's shape and type over the first bytes of a buffer."""
    return lent_bytes(buffer)[: kind.size_bytes].view(kind.dtype.numpy).reshape(kind.shape)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
