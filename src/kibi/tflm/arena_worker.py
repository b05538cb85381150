"""The child process that asks TFLM how much of its arena each of some models takes; run by its path, like `worker.py`.

Standard input: for each model its length as `<u64`, then its bytes. Standard output: for each one line, its head and tail in
bytes; a model that TFLM refuses has an empty one.
"""

import os
import re
import struct
import sys
import tempfile

_ARENA_BYTES = 256 << 20
_LINE = re.compile(rb"Arena allocation (head|tail) (\d+)")


def serve() -> None:
    """Answers for one model after another."""
    from tflite_micro.python.tflite_micro import runtime  # noqa: PLC0415 (the parent never imports it)

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with tempfile.TemporaryFile("w+b") as printed:
        os.dup2(printed.fileno(), 2)  # TFLM prints what it recorded there, and nowhere else
        while head := sys.stdin.buffer.read(8):
            data = sys.stdin.buffer.read(struct.unpack("<Q", head)[0])
            printed.seek(0)
            printed.truncate()
            try:
                # The misspelt name is TFLM's; so much is only reserved, not touched.
                interpreter = runtime.Interpreter.from_bytes(
                    data,
                    arena_size=_ARENA_BYTES,
                    intrepreter_config=runtime.InterpreterConfig.kAllocationRecording,
                )
                interpreter.print_allocations()
                printed.seek(0)
                found = dict(_LINE.findall(printed.read()))
                answers.write(f"{int(found[b'head'])} {int(found[b'tail'])}\n")
            except RuntimeError:
                answers.write("\n")
            answers.flush()  # the next model may end this process


if __name__ == "__main__":
    serve()
