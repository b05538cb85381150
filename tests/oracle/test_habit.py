"""A program for TFLM's Python interpreter runs on Kibi's as it is."""

import subprocess
import sys
from pathlib import Path

from tests.engines.networks import residual_bytes
from tests.support.oracle import requires_oracle

_PROGRAM = """
import sys
import numpy as np
if sys.argv[1] == "tflm":
    from tflite_micro import runtime
    interpreter = runtime.Interpreter.from_file(sys.argv[2])
else:
    import kibi
    interpreter = kibi.Interpreter(kibi.load(sys.argv[2]))
given, made = interpreter.get_input_details(0), interpreter.get_output_details(0)
for details in (given, made):
    told = details["quantization_parameters"]
    print("found", details["shape"], details["dtype"], told["scales"], told["zero_points"], told["quantized_dimension"])
for seed in range(3):
    values = np.random.default_rng(seed).integers(-128, 128, given["shape"]).astype(given["dtype"])
    interpreter.set_input(values, 0)
    interpreter.invoke()
    print("found", interpreter.get_output(0).tolist())
"""


@requires_oracle
def test_program_for_tflm_gives_the_same_on_kibi(tmp_path: Path) -> None:
    """Details of inputs and outputs, and the outputs of three inferences; each in a process of its own, as TFLM is native code."""
    path = tmp_path / "residual.tflite"
    path.write_bytes(residual_bytes())
    found = []
    for which in ("tflm", "kibi"):
        command = [sys.executable, "-c", _PROGRAM, which, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        found.append([line for line in done.stdout.splitlines() if line.startswith("found")])
    assert found[0] == found[1]
    assert len(found[0]) == 5
