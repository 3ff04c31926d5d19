"""The provider: which phases it answers, and with what. What a workflow looks like is in `woodpecker`.

Everything that needs protobuf or YAML is imported by the phase that needs it, so that the handshake is quick.
"""

from plughost_sdk import hook

FOLDER = ".woodpecker/"

provider = hook.Provider(
    "provider/woodpecker",
    version="1.0.0",
    capabilities=["provider:woodpecker", "matrix:build"],
    conflicts_with=["provider:*"],
    matrix="native",
)


@provider.generate
def generate(request):
    from woodpecker import containers, files, workflow
    from woodpecker.notes import Notes

    notes = Notes()
    try:
        arranged = files.arrange(
            request.schema, lambda job: containers.is_runnable(job, request.schema, notes)
        )
    except ValueError as error:
        yield hook.error("WOODPECKER_GENERATE_ERROR", str(error), title="Failed to arrange the workflows")
        return
    size = 0
    for file in arranged:
        try:
            text = workflow.render(file, request.schema, notes)
            workflow.check_events(file, arranged, request.schema, notes)
        except ValueError as error:
            title = f"Failed to generate workflow {file.name!r}"
            yield hook.error("WOODPECKER_GENERATE_ERROR", str(error), title=title)
        else:
            size += len(text)
            yield hook.fragment(f"{FOLDER}{file.name}.yaml", text, format="yaml")
        if size > hook.LIMIT:  # the answer is refused already: what follows would only take time
            break
    yield from notes.diagnostics


@provider.validate
def validate(request):
    from woodpecker import validation

    for each in request.rendered:
        if each.path.startswith(FOLDER) and each.path.endswith((".yaml", ".yml")):
            if len(each.content) > validation.SIZE_LIMIT:
                message = f"a file of {len(each.content)} characters is not read again"
                yield hook.info("WOODPECKER_NOT_VALIDATED", message, file=each.path)
                continue
            for problem in validation.problems(each.content):
                yield hook.error("WOODPECKER_INVALID_WORKFLOW", problem, file=each.path)


if __name__ == "__main__":
    provider.run()
