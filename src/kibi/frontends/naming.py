"""Names of models: an identifier for generated C, made from the name of a file."""

import re
import unicodedata
from pathlib import PurePath

_FALLBACK = "model"
# Of C11, C++20 and the alternative spellings of C++'s operators, in lower case.
_KEYWORDS = frozenset(
    (  # noqa: SIM905 - a hundred words in quotes would hide themselves
        "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class "
        "co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype "
        "default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline "
        "int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public "
        "register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast "
        "struct switch template this thread_local throw true try typedef typeid typename union unsigned using virtual "
        "void volatile wchar_t while xor xor_eq "
    ).split()
)
# A model `x` has the type `x_t`; these would redefine a type of the standard headers or of POSIX.
_TYPE_STEMS = re.compile(
    r"u?int(_least|_fast)?\d+|u?int(ptr|max)|s?size|ptrdiff|wchar|wint|wctype|wctrans|char\d+|max_align|nullptr|time|clock"
    r"|div|ldiv|lldiv|imaxdiv|fpos|va_list|float|double|sig_atomic|fenv|fexcept|mbstate|off|pid|mode"
)


def identifier(file_name: str) -> str:
    """The name of a model in C and C++: `MLPerf-KWS (int8).tflite` → `mlperf_kws_int8`.

    Lower-case ASCII letters, digits and underscores; it begins with a letter, and is no keyword, no stem of a standard
    type, and not in Kibi's own name space. Different file names may give the same identifier.
    """
    stem = PurePath(file_name).name
    for _ in range(2):  # `model.int8.tflite` keeps its `int8`; `model.tflite.bin` loses both
        stem = re.sub(r"\.(tflite|lite|bin|tfl)$", "", stem, flags=re.IGNORECASE)
    plain = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode("ascii").lower()
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_") or _FALLBACK
    if name[0].isdigit() or name == "kibi" or name.startswith("kibi_"):
        return f"{_FALLBACK}_{name}"
    if name in _KEYWORDS or _TYPE_STEMS.fullmatch(name):
        return f"{name}_{_FALLBACK}"
    return name
