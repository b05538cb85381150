"""Arguments of the commands that run a model on a data set: `kibi evaluate`, `kibi quantize` and `kibi report`."""

from pathlib import Path
from typing import Annotated

import typer

from kibi.cli.options.paths import given_model, given_path

DataSource = Annotated[
    str,
    typer.Option(
        "--data", "-d", metavar="DATA", help="A .npz or .npy file, a folder, or module:function.", show_default=False
    ),
]
TruthPath = Annotated[
    Path | None,
    typer.Option(
        "--truth",
        metavar="FILE",
        help="The label of each input, where the data have none: .npy, or text with one in a line.",
        parser=given_path,
        show_default=False,
    ),
]
ScoreName = Annotated[
    str | None,
    typer.Option(
        "--score",
        metavar="S",
        help="What tells anomalies: reconstruction, output, or class:N.",
        show_default="what follows from the shapes",
    ),
]
KeepState = Annotated[
    bool, typer.Option("--keep-state", help="The inputs are a sequence: variables keep their values.")
]
FloatReference = Annotated[
    Path | None,
    typer.Option(
        "--reference",
        metavar="MODEL",
        help="The float32 model that it was quantized from: with --data, says the error of each layer.",
        parser=given_model,
        show_default=False,
    ),
]
