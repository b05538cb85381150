"""Measures the arena bytes that TFLM uses for a model, and the scratch that its kernels request."""

import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from kibi.errors import OracleError
from kibi.frontends.tflite.embed import embed_offline_plan
from kibi.frontends.tflite.excerpt import single_operator
from kibi.frontends.tflite.outline import read_outline
from kibi.tflm import arena_worker
from kibi.tflm.child import NAME, Child
from kibi.tflm.oracle import available
from kibi.tflm.tflm_plan import ALIGNMENT_BYTES

_TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class ArenaUse:
    """The bytes of its arena that TFLM's build on this machine uses.

    Attributes:
        head_bytes: bytes that need not persist: activations and scratch.
        tail_bytes: bytes that persist: TFLM's own records, and variables.
    """

    head_bytes: int
    tail_bytes: int

    @property
    def used_bytes(self) -> int:
        """Bytes used in the complete arena."""
        return self.head_bytes + self.tail_bytes


def arena_uses(models: Sequence[bytes]) -> list[ArenaUse | None]:
    """Returns the bytes of TFLM's arena that each model takes; None for a model that TFLM refuses, or that crashes it.

    Args:
        models: the contents of `.tflite` files.

    Raises:
        OracleError: TFLM is not installed, or takes too long.
    """
    if not available():
        raise OracleError(
            "TensorFlow Lite Micro's Python build is not installed. Install it with: pip install 'kibi[tflm]'."
        )
    found: list[ArenaUse | None] = []
    while len(found) < len(models):
        found += _answers(models[len(found) :])
        if len(found) < len(models):
            found.append(None)  # the child died of it; the next one continues after it
    return found


def _answers(models: Sequence[bytes]) -> list[ArenaUse | None]:
    """Returns the answers of one child: fewer than there are models if the child dies."""
    request = b"".join(struct.pack("<Q", len(model)) + model for model in models)
    child = Child(arena_worker)
    try:
        child.allow_seconds(_TIMEOUT_SECONDS)
        answers, _ = child.process.communicate(request, timeout=_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        raise OracleError(f"{NAME} gave no answer within {_TIMEOUT_SECONDS:g} s.") from None
    finally:
        child.close()
    return [ArenaUse(*map(int, line.split())) if line else None for line in answers.decode().splitlines()]


def kernel_scratch(model: bytes, source: str) -> dict[int, int]:
    """Measures the scratch that each operator requests: TFLM prepares each operator alone.

    All tensors of an operator have offset 0. TFLM puts scratch where they are not, so the bytes above the largest of
    them are scratch.

    Args:
        model: the contents of a `.tflite` file.
        source: its name, for messages.

    Returns:
        Bytes by the index of the operator in the first subgraph, rounded as TFLM does; those that ask for none, or that do
        not stand alone, are left out.

    Raises:
        OracleError: as `arena_uses`.
        ModelError: the file is corrupt, or cannot be copied.
    """
    graph = read_outline(model, source).graph
    offsets = [-1 if tensor.is_constant else 0 for tensor in graph.tensors]
    alone = [single_operator(model, source, number) for number in range(len(graph.nodes))]
    uses = arena_uses([embed_offline_plan(each, source, offsets) for each in alone])
    found = {}
    for number, (node, use) in enumerate(zip(graph.nodes, uses, strict=True)):
        operands = [graph.tensors[index] for index in (*node.inputs, *node.outputs) if index is not None]
        # What is left of the others (handles have no shape that could be emptied) is one granule at offset 0.
        largest = max([1, *(tensor.type.size_bytes for tensor in operands if not tensor.is_constant)])
        scratch_bytes = 0 if use is None else use.head_bytes - (largest + -largest % ALIGNMENT_BYTES)
        if scratch_bytes > 0:
            found[number] = scratch_bytes
    return found
