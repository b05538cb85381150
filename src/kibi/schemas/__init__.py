"""JSON Schemas (draft 2020-12) of what each verb prints with `--json`: one file a verb, beside this one."""

import json
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from kibi.errors import InputError

_FOLDER = Path(__file__).parent


def schema_titles() -> Mapping[str, str]:
    """Returns the verbs that have a schema, and what their objects are about, sorted by name."""
    paths = sorted(_FOLDER.glob("*.json"))
    return {path.stem: json.loads(path.read_text(encoding="utf-8"))["title"] for path in paths}


def schema_text(verb: str) -> str:
    """Returns the schema of what a verb prints, as JSON.

    Raises:
        InputError: the verb prints no JSON, or does not exist.
    """
    known = schema_titles()
    if verb not in known:
        close = get_close_matches(verb, known, 1)
        hint = f"Did you mean {close[0]}?" if close else f"Take one of: {', '.join(known)}."
        raise InputError(f"no verb {verb[:40]!r} prints JSON. {hint}")
    return (_FOLDER / f"{verb}.json").read_text(encoding="utf-8")
