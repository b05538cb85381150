"""The table of a sweep: a Parquet file with one row for each model in each setting, and the versions of the tools.

Columns are those of `kibi.sweeps.rows`; a parameter or figure has a column of its own, which is empty in rows without it. The
file's metadata has the key `kibi.sweep`, whose value is a JSON object: format, tools, and the digest of the evaluation.
"""

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kibi.clusters.extra import imported
from kibi.errors import InputError
from kibi.files import read_file, write_file
from kibi.printable import printable
from kibi.sweeps.rows import COLUMNS, FIGURE, PARAMETER, Row, is_whole, row_of
from kibi.text.json import json_text, without_surrogates

if TYPE_CHECKING:
    import pyarrow as pa

METADATA_KEY = b"kibi.sweep"
_FORMAT = 1
MOST_ROWS = 1_000_000
_MOST_BYTES = 1 << 30
_MOST_TEXT_BYTES = 1 << 16
_BATCH = 1024
_SHOWN = 60
_REMEDY = "Move it away, or give another path."


def write_table(path: Path, rows: Sequence[Row], facts: Mapping[str, Any]) -> None:
    """Writes a table; the file is complete or as it was before.

    Args:
        path: of the file.
        rows: in the order of the table.
        facts: of the tools, for the metadata.

    Raises:
        OutputError: the file cannot be written.
        ToolchainError: pyarrow is missing.
    """
    pyarrow, parquet = imported("pyarrow"), imported("pyarrow.parquet")
    records = [row.record() for row in rows]
    names = _names(records)
    columns = {name: [record.get(name) for record in records] for name in names}
    kinds = {name: _kind(name, values) for name, values in columns.items()}
    schema = pyarrow.schema(
        [(name, getattr(pyarrow, kind)()) for name, kind in kinds.items()],
        metadata={METADATA_KEY: json_text({"format": _FORMAT, **facts}, indent=None).text.strip()},
    )
    arrays = [pyarrow.array(_cast(columns[each.name], kinds[each.name]), each.type) for each in schema]
    made: pa.Table = pyarrow.Table.from_arrays(arrays, schema=schema)
    buffer = io.BytesIO()
    parquet.write_table(made, buffer, compression="zstd")
    write_file(path, buffer.getvalue())


def read_table(path: Path) -> tuple[Row, ...]:
    """Reads the rows of a table; an absent file has none.

    Types, sizes and the lengths of texts are checked before rows are made, since a small file can hold a text of megabytes once
    and name it in a million rows.

    Raises:
        InputError: the file is no table of a sweep, is of another version of Kibi, or is damaged.
        ToolchainError: pyarrow is missing.
    """
    pyarrow, parquet = imported("pyarrow"), imported("pyarrow.parquet")
    if not path.exists():
        return ()
    data = read_file(path, _MOST_BYTES, InputError, _REMEDY)
    try:
        texts = _texts(parquet.ParquetFile(io.BytesIO(data)))
        found = parquet.ParquetFile(io.BytesIO(data), read_dictionary=texts)
        return tuple(row for batch in found.iter_batches(_BATCH, use_threads=False) for row in _rows(batch, texts))
    except InputError as error:
        raise InputError(f"{path}: {error}. {_REMEDY}") from None
    except (pyarrow.ArrowException, OSError, ValueError, RecursionError) as error:
        reason = str(error).rstrip(".")
        raise InputError(f"{path}: it is no Parquet file, or is damaged: {reason}. {_REMEDY}") from None


def _texts(found: Any) -> list[str]:
    """The names of the columns with texts, of a file whose facts and columns are those of a table.

    Raises:
        InputError: they are not; the text is a part of a sentence.
    """
    schema, sizes = found.schema_arrow, found.metadata
    facts = json.loads((schema.metadata or {}).get(METADATA_KEY, b"null"))
    if not isinstance(facts, dict) or facts.get("format") != _FORMAT:
        raise InputError("it is no table of a sweep, or of another version of Kibi")
    groups = [sizes.row_group(number) for number in range(sizes.num_row_groups)]
    if sizes.num_rows > MOST_ROWS or sum(group.total_byte_size for group in groups) > _MOST_BYTES:
        raise InputError(f"it has more than {MOST_ROWS:,} rows, or {_MOST_BYTES:,} bytes")
    for each in schema:
        if str(each.type) not in _types(each.name):
            raise InputError(f"the column {printable(each.name[:_SHOWN])} is {printable(str(each.type)[:_SHOWN])}")
    return [each.name for each in schema if str(each.type) == "string"]


def _types(name: str) -> tuple[str, ...]:
    """The types that a column may have; the reader of rows says which columns there are."""
    if name.startswith(PARAMETER):
        return ("bool", "int64", "double", "string")
    if name.startswith(FIGURE):
        return ("double",)
    return ("int64",) if is_whole(name) else ("string",)


def _rows(batch: Any, texts: Sequence[str]) -> Iterator[Row]:
    """Yields the rows of a batch.

    Raises:
        InputError: a text is too long, or a row is none.
    """
    for name in texts:
        column = batch.column(name)
        words = column.dictionary if hasattr(column, "dictionary") else column
        if any(len(word.as_buffer() or b"") > _MOST_TEXT_BYTES for word in words):
            raise InputError(
                f"the column {printable(name[:_SHOWN])} has a text of more than {_MOST_TEXT_BYTES:,} bytes"
            )
    for record in batch.to_pylist():
        yield row_of(record)


def _names(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """The columns: fixed ones in their order, parameters after the model's digest, figures before the key."""
    found = dict.fromkeys(name for record in records for name in record)
    parameters = [name for name in found if name.startswith(PARAMETER)]
    figures = [name for name in found if name.startswith(FIGURE)]
    return [*COLUMNS[:2], *parameters, *COLUMNS[2:-1], *figures, *COLUMNS[-1:]]


def _kind(name: str, values: Iterable[object]) -> str:
    """The type of a column, as a function of pyarrow. Parameters of several kinds become texts."""
    if name in COLUMNS:
        return "int64" if is_whole(name) else "string"
    if name.startswith(FIGURE):
        return "float64"
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "bool_"
    if kinds == {int}:
        return "int64"
    return "float64" if kinds and kinds <= {int, float} else "string"


def _cast(values: Sequence[object], kind: str) -> list[object]:
    """The values for a column of that type."""
    if kind == "float64":
        return [None if value is None else float(str(value)) for value in values]
    if kind == "string":
        return [None if value is None else without_surrogates(str(value)) for value in values]
    return list(values)
