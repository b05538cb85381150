"""A kind of package: what a function makes of a library for one community of users."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kibi.codegen import Library
from kibi.packages.golden import Golden
from kibi.text.file_name import FileName
from kibi.text.file_text import FileText


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The files of a package.

    Attributes:
        texts: by their names in the package's folder.
        root: the folder of the C sources.
        data: files of bytes.
    """

    texts: Mapping[FileName, FileText]
    root: str = ""
    data: Mapping[FileName, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of package.

    Attributes:
        name: what `--package` takes.
        description: what it makes, one line.
        tested: what was built and run of it, and what was not, in sentences.
        use: how one uses the folder; `{directory}` and `{name}` are filled in.
        arrange: the files of a library's package. Raises `InputError` where the kind cannot hold the library.
    """

    name: str
    description: str
    tested: str
    use: str
    arrange: Callable[[Library, Golden | None], Arrangement]
