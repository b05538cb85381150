"""The child process that runs LiteRT on some inputs; run by its path, like `worker.py`.

Standard input: an `.npz` archive with the bytes of the model as `model`, and array `j` of input `i` as `i.j`. Standard output: an
`.npz` archive with the outputs, named alike, or nothing if LiteRT refuses the model or an input.
"""

import io
import os
import sys
from typing import Any

import numpy as np


def serve() -> None:
    """Answers once."""
    from ai_edge_litert.interpreter import Interpreter  # noqa: PLC0415 (the parent never imports it)

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the library prints there
    given = np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False)
    interpreter = Interpreter(model_content=given["model"].tobytes(), num_threads=1)
    interpreter.allocate_tensors()
    inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
    made: dict[str, Any] = {}
    number = 0
    while any(name.startswith(f"{number}.") for name in given.files):
        for place, detail in enumerate(inputs):
            interpreter.set_tensor(detail["index"], given[f"{number}.{place}"])
        interpreter.invoke()
        made |= {f"{number}.{place}": interpreter.get_tensor(each["index"]) for place, each in enumerate(outputs)}
        number += 1
    packed = io.BytesIO()
    np.savez(packed, **made)
    answers.write(packed.getvalue())
    answers.flush()


if __name__ == "__main__":
    serve()
