"""Parameters of the kernels that decide what runs, and how often: branches, loops, and buffers of a stream."""

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import Params, array, number, subgraph


class CircularBufferParams(Params, kernels=("kibi_circular_buffer_s8",)):
    """CIRCULAR_BUFFER: the newest slots of a stream; each call makes one slot of the output."""

    pieces: int = number(DType.S32, "pointers that hold the newest slot one after another")
    piece_bytes: int = number(DType.S32)
    cycles: int = number(DType.S32, "at least 1: of so many inferences the last one gives outputs")
    contract = """
        require: 1 <= pieces
        require: 1 <= piece_bytes
        input: pieces x piece_bytes
        input: 1 x pieces * piece_bytes or null
        output: pieces * piece_bytes
        state: 1 of 4
    """


class ControlFlowParams(Params):
    """The shared parameters of IF and WHILE: the tensors that are passed to subgraphs and back."""

    inputs: int = number(DType.S32, "tensors that are passed to the subgraphs")
    outputs: int = number(DType.S32, "tensors that the node gives")
    pieces: Array = array(
        DType.S32,
        "[2 * inputs + outputs]: the number of rows of each input, and the bytes of one; then the bytes of each output",
    )


class IfParams(ControlFlowParams, kernels=("kibi_if_any",)):
    """IF: one inference of one of two subgraphs."""

    then_body: None = subgraph("runs where the condition is not 0")
    else_body: None = subgraph("runs where the condition is 0")
    contract = """
        require: 0 <= inputs
        require: 1 <= outputs
        array pieces: 2 * inputs + outputs in 0 … 2**24 - 1
        input: 1 x 1
        inputs from pieces: inputs
        outputs from pieces: 2 * inputs
        scratch: 1
    """


class WhileParams(ControlFlowParams, kernels=("kibi_while_any",)):
    """WHILE: inferences of a subgraph, one after another, as long as another subgraph says so; it has as many outputs as inputs."""

    condition: None = subgraph("its first output is one byte: not 0 for another turn")
    body: None = subgraph("one turn")
    contract = """
        require: 1 <= inputs
        require: inputs == outputs
        array pieces: 2 * inputs + outputs in 0 … 2**24 - 1
        inputs from pieces: inputs
        outputs from pieces: 2 * inputs
        scratch: 1
    """
