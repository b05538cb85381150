"""`kibi measure --csv`, `--markdown` and `--node-data`: what was measured, in files for other programs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibi.cli.options.paths import given_path
from kibi.files import write_file, write_folder
from kibi.text.file_name import FileName

if TYPE_CHECKING:
    from kibi.codegen import CompiledModel
    from kibi.reports.measurement import Measurement

CsvPath = Annotated[
    Path | None,
    typer.Option(
        "--csv",
        metavar="FILE",
        help="Write the operators and the totals as comma-separated values.",
        parser=given_path,
        show_default=False,
    ),
]
MarkdownPath = Annotated[
    Path | None,
    typer.Option("--markdown", metavar="FILE", help="Write them as Markdown.", parser=given_path, show_default=False),
]
NodeDataFolder = Annotated[
    Path | None,
    typer.Option(
        "--node-data",
        metavar="DIR",
        help="Write instructions, MACs and bytes of each operator for Model Explorer.",
        parser=given_path,
        show_default=False,
    ),
]


def write_tables(found: "Measurement", csv: Path | None, markdown: Path | None) -> None:
    """Writes the tables that were asked for.

    Raises:
        OutputError: a file cannot be written.
    """
    from kibi.reports.measurement_tables import measurement_csv, measurement_markdown  # noqa: PLC0415

    if csv is not None:
        write_file(csv, measurement_csv(found).text.encode())
    if markdown is not None:
        write_file(markdown, measurement_markdown(found).encode())


def write_node_data(model: "CompiledModel", found: "Measurement", path: Path, folder: Path) -> None:
    """Writes the figures of each operator for Model Explorer, one file each.

    Args:
        model: the model of the library that was measured.
        found: what was measured.
        path: the model's file.
        folder: where to write; made if absent.

    Raises:
        OutputError: the files cannot be written.
    """
    from kibi.frontends.model_file import read_model  # noqa: PLC0415 - verbs pay for what they use
    from kibi.frontends.tflite.reader import ModelReader  # noqa: PLC0415 - as above
    from kibi.reports.node_data import node_data  # noqa: PLC0415 - as above

    signature = model.graph.signature
    number = signature.subgraph if signature else 0
    name = ModelReader(read_model(path)).subgraph(number).name or (f"subgraph_{number}" if number else "main")
    write_folder(folder, {FileName(f"{each}.json"): text for each, text in node_data(model, found, name).items()})
