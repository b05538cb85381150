"""Converts a Keras model or a SavedModel: `python tensorflow_script.py IN OUT`. It runs alone, and imports nothing of Kibi's."""

import sys
from pathlib import Path
from typing import Any


def convert(source: Path) -> bytes:
    """The contents of a `.tflite` file, with float32 weights.

    Args:
        source: a `.keras` or `.h5` file, or the folder of a SavedModel. Code that a Keras file has inside is not run.
    """
    import tensorflow as tf  # noqa: PLC0415 - only the child process has it

    if source.is_dir():
        converter: Any = tf.lite.TFLiteConverter.from_saved_model(str(source))
    else:
        named = source
        if source.suffix not in (".keras", ".h5", ".hdf5"):  # Keras goes by the ending
            named = Path("model.h5" if source.read_bytes()[:4] == b"\x89HDF" else "model.keras").absolute()
            named.write_bytes(source.read_bytes())
        converter = tf.lite.TFLiteConverter.from_keras_model(
            tf.keras.models.load_model(str(named), compile=False, safe_mode=True)
        )
    data: bytes = converter.convert()
    return data


def main(source: str, made: str) -> None:
    """Writes the model; if the conversion fails, writes the reason."""
    try:
        Path(made).write_bytes(convert(Path(source)))
    except Exception as error:  # noqa: BLE001 - whatever the framework raises is the user's to read
        Path(made + ".error").write_text(f"{type(error).__name__}: {error}", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
