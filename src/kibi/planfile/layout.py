"""What a plan file for a later version of its model must keep, so that little more than weights differs."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from kibi.errors import PlanError
from kibi.files import read_text
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import DIGEST_BYTES
from kibi.planner.plan import FORMAT, MOST_PLAN_BYTES, Plan
from kibi.planner.saved_records import RecordError, load_json, read_record
from kibi.text.file_text import FileText
from kibi.text.json import json_text

LAYOUT_FORMAT = 1
"""Version of the saved form; a reader refuses all others."""
_REMEDY = "Make the plan file again from the old model: `kibi compile --format plan` writes both."


@dataclass(frozen=True, slots=True)
class Layout:
    """The decisions that a plan file was made with.

    Attributes:
        digest: the SHA-256 at the end of the plan file, in hexadecimal digits.
        source: the model file's name.
        without: lossless passes that were left out.
        channels: what each call of the pass `constant-channels` removed: of each channel the tensor, and its number before.
        plan: the order of steps, the place of every buffer, and the kernels.
        kernels: ids of the table of the core that it is for, ascending; empty: of one with what the file needs.
        names: True if names are stored.
        places: the offset of each part of the file, in the order in which parts were stored.
        fences: True if weights of the file may be written.
    """

    digest: str
    source: str
    without: tuple[str, ...]
    channels: tuple[tuple[tuple[int, int], ...], ...]
    plan: Plan
    kernels: tuple[int, ...]
    names: bool
    places: tuple[int, ...]
    fences: bool = False

    def text(self) -> FileText:
        """Returns the saved form, which `load_layout` reads."""
        return json_text({"layout": LAYOUT_FORMAT, **asdict(self), "plan": {"format": FORMAT, **asdict(self.plan)}})


def layout_path(file: Path) -> Path:
    """Returns the path of the layout of a plan file: beside it."""
    return file.with_name(f"{file.name}.layout.json")


def digest_of(data: bytes) -> str:
    """Returns the SHA-256 at the end of a plan file, in hexadecimal digits."""
    return data[-DIGEST_BYTES:].hex()


def load_layout(file: Path, data: bytes) -> Layout:
    """Reads the layout of a plan file.

    Args:
        file: the path of the plan file.
        data: its bytes.

    Raises:
        PlanError: it is no plan file, there is no layout beside it, or that of another file or of another version.
    """
    PlanFile(data)
    path = layout_path(file)
    text = read_text(path, MOST_PLAN_BYTES, PlanError, f"It says what {file.name} was made with. {_REMEDY}")
    try:
        layout = _layout(load_json(text))
    except RecordError as error:
        raise PlanError(f"{path} is no layout of a plan file: {error}. {_REMEDY}") from None
    if layout.digest != digest_of(data):
        raise PlanError(f"{path} is the layout of another plan file than {file}. {_REMEDY}")
    return layout


def _layout(saved: object) -> Layout:
    """The layout that JSON describes.

    Raises:
        RecordError: it describes none.
        PlanError: its plan is none, or of another version.
    """
    if not isinstance(saved, dict) or saved.get("layout") != LAYOUT_FORMAT:
        raise RecordError(f"it is not of format {LAYOUT_FORMAT}")
    plan = Plan.from_record(saved.get("plan"))
    fields = {name: value for name, value in saved["plan"].items() if name != "format"}
    return replace(read_record(Layout, {**saved, "plan": fields}), plan=plan)
