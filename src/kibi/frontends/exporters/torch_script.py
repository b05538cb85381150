"""Converts a program of torch.export: `python torch_script.py IN OUT`. It runs alone, and imports nothing of Kibi's."""

import importlib.util
import re
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import patch

_SYMBOL = r"[a-z]{1,2}\d+"
"""What torch.export calls a size that is open: `s0`, `u3`, `zf1`."""
_NAME = r"[A-Za-z_]\w*"
_PART = rf"\d+(?:\.\d+)?|{_NAME}|'{_SYMBOL}'|[\s()+\-*/,=]"
"""Of arithmetic: a number, a name, the name of a symbol, a sign."""
_SYMPY = frozenset(
    (
        "Add",
        "Float",
        "Integer",
        "Max",
        "Min",
        "Mod",
        "Mul",
        "Rational",
        "Symbol",
        "True",
        "False",
        "integer",
        "positive",
    )
)
_MOST_CHARACTERS = 1000


def convert(source: Path, made: Path) -> None:
    """Writes a `.tflite` file if litert-torch is installed, else an ONNX file.

    Args:
        source: what `torch.export.save` wrote.
        made: where to write.
    """
    import torch  # noqa: PLC0415 - only the child process has it

    program: Any = _loaded(torch, source)
    if importlib.util.find_spec("litert_torch") is not None:
        import litert_torch  # noqa: PLC0415 - as above

        arguments, keywords = program.example_inputs or ((), {})
        litert_torch.convert(program.module(), arguments, keywords).export(str(made))
    else:
        found: Any = torch.onnx.export(program, dynamo=True, verbose=False, external_data=False)
        made.write_bytes(found.model_proto.SerializeToString())


def _loaded(torch: Any, source: Path) -> Any:
    """The program in a file, none of which becomes code.

    PyTorch's loader makes objects that are pickled in the file, and evaluates its sizes as expressions of Python. Here the first
    are refused, and the second are arithmetic with symbols. (Tensors are pickled, too; the environment that Kibi starts this
    script in makes PyTorch read them as numbers alone: TORCH_FORCE_WEIGHTS_ONLY_LOAD.)
    """
    import sympy  # noqa: PLC0415 - PyTorch needs it

    evaluate = sympy.sympify

    def evaluated(text: Any, *arguments: Any, **options: Any) -> Any:
        return evaluate(checked(text, options.get("locals") or {}), *arguments, **options)

    with ExitStack() as replaced:
        for name in ("pickle.load", "pickle.loads", "torch._C._pickle_load_obj"):
            replaced.enter_context(patch(name, _refused))
        replaced.enter_context(patch.object(sympy, "sympify", evaluated))
        return torch.export.load(str(source))


def _refused(*_: object, **__: object) -> NoReturn:
    raise ValueError("objects of Python are pickled in the file, which may be any code, so they are never made")


def checked(text: Any, known: Any) -> Any:
    """An expression of a file, if it is arithmetic with symbols and with functions that PyTorch names.

    Args:
        text: the expression; what is no text is returned as it is.
        known: the names that PyTorch knows.

    Raises:
        ValueError: it is anything else.
    """
    if not isinstance(text, str):
        return text
    is_plain = len(text) <= _MOST_CHARACTERS and not re.sub(_PART, "", text) and "**" not in text
    names = re.findall(_NAME, text)
    if not is_plain or not all(name in known or name in _SYMPY or re.fullmatch(_SYMBOL, name) for name in names):
        raise ValueError(f"the size {text[:60]!r} in the file is no arithmetic with symbols")
    return text


def main(source: str, made: str) -> None:
    """Writes the model; if it cannot be converted, writes the reason."""
    try:
        convert(Path(source), Path(made))
    except Exception as error:  # noqa: BLE001 - whatever the framework raises is the user's to read
        Path(made + ".error").write_text(f"{type(error).__name__}: {error}", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
