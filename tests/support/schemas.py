"""The published schemas, so strict that a key which they do not have is an error."""

import json
from functools import cache
from typing import Any

import jsonschema

from kibi.schemas import schema_text


@cache
def validator(verb: str) -> Any:
    """A validator of what a verb prints. Those of users take further keys, which later versions may have; this one takes none."""
    return jsonschema.Draft202012Validator(_strict(json.loads(schema_text(verb))))


def _strict(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: _strict(each) for name, each in schema.items()}
    if "object" in str(made.get("type")) and "properties" in made:
        made.setdefault("additionalProperties", False)
    return made


def check_printed(verb: str, printed: str) -> None:
    """Checks what a verb printed with `--json`.

    Raises:
        ValidationError: it is not as its schema says.
    """
    validator(verb).validate(json.loads(printed))
