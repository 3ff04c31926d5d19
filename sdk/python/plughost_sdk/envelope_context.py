"""What a hook is given and what it gives back: the context of a run, made of the request, and the change it would make.

Both are frozen.
"""

import os

from .envelope_frame import FrameRefused, object_of
from .envelope_log import Log

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, NoReturn

    AnyPath = str | os.PathLike[str]

ANSWERS_FILE = ".exlab-answers.yml"  # in the destination, unless the host names another
ANSWERS_KEY = "__extra_inputs__"  # of the variables, where other workers of this contract put the answers
KINDS = ("modify", "create", "rename", "delete")

_TEXTS = ("template_name", "template_version", "run_kind", "equipment_id", "project")


class _Frozen:
    """Holds what it was made with."""

    def __init__(self, **values: "Any") -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> "NoReturn":
        raise AttributeError(f"a {type(self).__name__} is frozen: {name} cannot be set")

    def __delattr__(self, name: str) -> "NoReturn":
        raise AttributeError(f"a {type(self).__name__} is frozen: {name} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]  # it holds a dict

    def __repr__(self) -> str:
        values = ", ".join(f"{name.lstrip('_')}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({values})"


class PluginContext(_Frozen):
    """What the host says about a run.

    `extra_inputs` holds the operator's answers to what the plugin has asked for; it is empty at first. When there are
    answers, `variables["__extra_inputs__"]` has them too.
    """

    variables: "dict[str, Any]"
    template_name: str
    template_version: str
    run_kind: str
    equipment_id: str
    project: str
    dry_run: bool
    extra_inputs: "dict[str, Any]"
    log: "Log"

    def __init__(
        self,
        *,
        variables: "dict[str, Any] | None" = None,
        dst_root: "AnyPath" = "",
        answers_file: "AnyPath" = "",
        template_name: str = "",
        template_version: str = "",
        run_kind: str = "",
        equipment_id: str = "",
        project: str = "",
        dry_run: bool = False,
        extra_inputs: "dict[str, Any] | None" = None,
        log: "Log | None" = None,
    ) -> None:
        root = os.fspath(dst_root) or os.getcwd()
        super().__init__(
            variables={} if variables is None else variables,
            _dst_root=root,
            _answers_file=os.fspath(answers_file) or os.path.join(root, ANSWERS_FILE),
            template_name=template_name,
            template_version=template_version,
            run_kind=run_kind,
            equipment_id=equipment_id,
            project=project,
            dry_run=dry_run,
            extra_inputs={} if extra_inputs is None else extra_inputs,
            log=Log() if log is None else log,
        )

    # pathlib costs as much as starting Python: it is imported when a path is first asked for.

    @property
    def dst_root(self) -> "Path":
        """The directory whose files are transformed."""
        from pathlib import Path

        return Path(self.__dict__["_dst_root"])

    @property
    def answers_file(self) -> "Path":
        from pathlib import Path

        return Path(self.__dict__["_answers_file"])


def context_of(request: "dict[str, Any]") -> "PluginContext":
    """Return the context that *request* speaks of. Raises FrameRefused."""
    given = object_of(request.get("context"), "context")
    answers = object_of(request.get("extra_inputs"), "extra_inputs")
    return PluginContext(
        variables=_with_answers(object_of(given.get("variables"), "variables"), answers),
        dst_root=_text(given, "dst_root"),
        answers_file=_text(given, "answers_file"),
        dry_run=_flag(request, "dry_run") or _flag(given, "dry_run"),
        extra_inputs=answers,
        log=Log(),
        **{key: _text(given, key) for key in _TEXTS},
    )


def _with_answers(variables: "dict[str, Any]", answers: "dict[str, Any]") -> "dict[str, Any]":
    """Return *variables* with the *answers* in the place where plugins of other hosts look for them."""
    return {**variables, ANSWERS_KEY: dict(answers)} if answers else variables


def files_of(request: "dict[str, Any]") -> list[str]:
    """Return the paths that *request* names. Raises FrameRefused."""
    files = request.get("files")
    if files is None:
        return []
    if not isinstance(files, list) or not all(isinstance(each, str) for each in files):
        raise FrameRefused("files must be a list of strings")
    return files


def _text(given: "dict[str, Any]", key: str) -> str:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        raise FrameRefused(f"{key} must be a string, not {type(value).__name__}")
    return value or ""


def _flag(given: "dict[str, Any]", key: str) -> bool:
    value = given.get(key)
    if value is not None and not isinstance(value, bool):
        raise FrameRefused(f"{key} must be true or false, not {type(value).__name__}")
    return bool(value)


class FileChange(_Frozen):
    """One change that a plugin would make. *kind* is modify, create, rename or delete; *detail* must be JSON.

    Raises ValueError for any other kind, or a detail that is no dict.
    """

    path: "AnyPath"
    kind: str
    summary: str
    detail: "dict[str, Any]"

    def __init__(
        self, path: "AnyPath", kind: str, summary: str, detail: "dict[str, Any] | None" = None
    ) -> None:
        if kind not in KINDS:
            raise ValueError(f"the kind of a change is {', '.join(KINDS[:-1])} or {KINDS[-1]}, not {kind!r}")
        if detail is not None and not isinstance(detail, dict):
            raise ValueError(f"the detail of a change is a dict, not {type(detail).__name__}")
        super().__init__(path=path, kind=kind, summary=summary, detail={} if detail is None else detail)
