"""Changes what runs of plan files say, in each of their forms."""

from kibi.planfile.reader import PlanFile
from kibi.planfile.records import DIGEST_BYTES, GRAPH, HEADER, TABLE_NUMBERS
from kibi.planfile.run_reader import FileRun
from tests.planfile.mutants import with_digest


def number_bytes(graph: dict[str, int]) -> int:
    """Bytes of each of a run's first numbers."""
    return min(graph["width"], 2)


def with_spare_number(file: PlanFile) -> PlanFile:
    """A file whose runs are at its end, after a table of 256 numbers of their own, up to the byte at which a core stops.

    No byte names the first number.
    """
    graph, data = file.record(GRAPH, file.header["graphs"]), bytearray(file.data[:-DIGEST_BYTES])
    if graph["width"] > 1:
        return file
    old = graph["runs"] - 2 * TABLE_NUMBERS
    begin = len(data)
    data += data[old : graph["runs_end"] + 1]
    moved = {"runs": begin + 2 * TABLE_NUMBERS, "runs_end": len(data) - 1}
    data += bytes(4 + -len(data) % 4 + DIGEST_BYTES)
    for name, value in moved.items():
        place = file.header["graphs"] + GRAPH.offsets[name]
        data[place : place + 4] = value.to_bytes(4, "little")
    place = HEADER.offsets["file_bytes"]
    data[place : place + 4] = len(data).to_bytes(4, "little")
    return PlanFile(with_digest(data))


def put_entry(data: bytearray, graph: dict[str, int], run: FileRun, pointer: int, value: int) -> None:
    """Changes an entry of a run; where entries are bytes, it names the spare number of the table from then on."""
    width = graph["width"]
    place = run.offset + width * pointer
    if width == 1:
        data[place] = 0
        place, width = graph["runs"] - 2 * TABLE_NUMBERS, 2
    data[place : place + width] = value.to_bytes(width, "little")
