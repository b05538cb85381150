"""Layers with types that TFLM does not multiply: one problem names all of them, if a model consists of such layers.

They are not run as an extension either. Of hybrid layers LiteRT chooses scales anew for each input while the model runs. Of uint8
ones the weights have zero points, so that they span nine bits once these are subtracted, and no kernel of int8 gives their sums.
"""

from collections.abc import Iterator

from kibi.dtypes import DType
from kibi.errors import Problem
from kibi.ir import Tensor

_HYBRID = "a hybrid model (f32 activations, {} weights)"
_UINT8 = "a uint8 model (u8 activations, {} weights)"
_REMEDIES = {
    _HYBRID: "Quantize the activations as well, with a representative dataset",
    _UINT8: "Quantize the model to int8: convert it again with a converter of TensorFlow 2.3 or newer",
}


class RefusedLayers:
    """Those of one model, collected layer by layer."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, DType], list[tuple[int, str]]] = {}

    def add(self, index: int, name: str, source: Tensor | None, weights: Tensor | None) -> bool:
        """Checks a layer; returns true if it is one of them.

        Args:
            index: the operator's index in the file.
            name: the operator's name.
            source: its input.
            weights: its filter.
        """
        if source is None or weights is None:
            return False
        activations, kind = source.type.dtype, weights.type.dtype
        text = {DType.F32: _HYBRID, DType.U8: _UINT8}.get(activations)
        if text is None or not kind.is_integer:
            return False
        self._found.setdefault((text, name, kind), []).append((index, weights.name))
        return True

    def problems(self) -> Iterator[Problem]:
        """One for each kind of layer, where it first is."""
        for (text, name, kind), layers in self._found.items():
            count = "" if len(layers) == 1 else f" (it has {len(layers)} such layers)"
            what = f"{name}: {text.format(kind)} is not supported, nor is it by TensorFlow Lite Micro{count}"
            yield Problem(what, _REMEDIES[text], *layers[0])
