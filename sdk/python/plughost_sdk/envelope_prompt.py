"""What a plugin asks the operator for: fields, each checked when it is made. Asks nobody itself."""

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from typing import Any

TYPES = ("string", "text", "choice", "date", "boolean")
KEYS = ("id", "label", "type", "required", "default", "options", "hint")


def field(
    id: str,
    label: str,
    type: str = "string",
    *,
    required: bool = True,
    default: str | bool | None = None,
    options: list[str] | None = None,
    hint: str | None = None,
) -> "dict[str, Any]":
    """Return the definition of one field to ask for. Raises ValueError that names what is wrong with it."""
    given = {"id": id, "label": label, "type": type, "required": required}
    more = {"default": default, "options": options, "hint": hint}
    return checked({**given, **{key: value for key, value in more.items() if value is not None}})


def checked_all(fields: object) -> "list[dict[str, Any]]":
    """Return *fields* with what they leave out filled in. Raises ValueError."""
    if not isinstance(fields, (list, tuple)) or not fields:
        raise ValueError("the fields to ask for are a list with at least one field")
    found = [checked(each) for each in fields]
    ids = [each["id"] for each in found]
    for each in ids:
        if ids.count(each) > 1:
            raise ValueError(f"the field {each!r} is asked for twice")
    return found


def checked(given: object) -> "dict[str, Any]":
    """Return one field with what it leaves out filled in. Raises ValueError."""
    if not isinstance(given, dict):
        raise ValueError(f"a field is a dict, not {type(given).__name__}")
    found = {"type": "string", "required": True}
    found |= {key: value for key, value in given.items() if value is not None}
    name = found.get("id")
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"the id of a field is a non-empty string, not {name!r}")
    problem = _problem(found)
    if problem:
        raise ValueError(f"the field {name!r}: {problem}")
    return found


def _problem(found: "dict[str, Any]") -> str | None:
    unknown = [key for key in found if key not in KEYS]
    if unknown:
        return f"{unknown[0]!r} is no key of a field; the keys are {', '.join(KEYS)}"
    if not isinstance(found.get("label"), str) or not found["label"].strip():
        return f"the label is a non-empty string, not {found.get('label')!r}"
    if found["type"] not in TYPES:
        return f"the type is one of {', '.join(TYPES)}, not {found['type']!r}"
    if not isinstance(found["required"], bool):
        return f"required is True or False, not {found['required']!r}"
    if not isinstance(found.get("hint", ""), str):
        return f"the hint is a string, not {found['hint']!r}"
    return _problem_of_options(found) or _problem_of_default(found)


def _problem_of_options(found: "dict[str, Any]") -> str | None:
    options = found.get("options")
    if found["type"] != "choice":
        return None if options is None else f"options are for a choice, not for a {found['type']}"
    if not isinstance(options, (list, tuple)) or not options:
        return "a choice needs options, a list of strings"
    if not all(isinstance(each, str) for each in options):
        return "the options of a choice are strings"
    return None


def _problem_of_default(found: "dict[str, Any]") -> str | None:
    if "default" not in found:
        return None
    default, kind = found["default"], found["type"]
    if kind == "boolean":
        return None if isinstance(default, bool) else f"the default is True or False, not {default!r}"
    if not isinstance(default, str):
        return f"the default is a string, not {default!r}"
    if kind == "choice" and default not in found["options"]:
        return f"the default {default!r} is none of the options"
    if kind == "date" and not _is_date(default):
        return f"the default is a date such as 2024-12-31, not {default!r}"
    return None


def _is_date(text: str) -> bool:
    from datetime import date

    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
