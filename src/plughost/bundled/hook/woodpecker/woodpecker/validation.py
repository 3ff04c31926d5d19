"""The text of a workflow to what is wrong with it. Checks what Woodpecker would refuse first, not its whole schema."""

from __future__ import annotations

from collections.abc import Iterator

from .yaml_reader import read_mapping

SIZE_LIMIT = 524_288  # characters; reading takes ten seconds for a million, and the host waits for thirty


def problems(text: str) -> Iterator[str]:
    """Yield what is wrong with the workflow in *text*, one sentence each."""
    try:
        workflow = read_mapping(text, "the file")
    except ValueError as error:
        yield str(error)
        return
    steps = workflow.get("steps")
    if not isinstance(steps, list) or not all(isinstance(each, dict) for each in steps) or not steps:
        yield "there are no steps"
        return
    names = [each.get("name") for each in steps]
    for each in steps:
        if not each.get("image"):
            yield f"step {each.get('name')}: there is no image"
        if names.count(each.get("name")) > 1:
            yield f"step {each.get('name')}: its name is another's too"
        for need in each.get("depends_on") or ():
            if need not in names:
                yield f"step {each.get('name')}: depends on {need}, which is not there"
