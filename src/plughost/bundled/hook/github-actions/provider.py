"""The provider: which phases it answers, and with what. What a workflow looks like is in `github_actions`.

Everything that needs protobuf or YAML is imported by the phase that needs it, so that the handshake is quick.
"""

from plughost_sdk import hook

provider = hook.Provider(
    "provider/github",
    version="1.0.0",
    capabilities=["provider:github", "cache:native", "matrix:build"],
    conflicts_with=["provider:*"],
    matrix="native",
)


@provider.detect
def detect(request):
    from github_actions import detection

    return detection.detect(request)


@provider.generate
def generate(request):
    from github_actions import workflow
    from github_actions.notes import Notes

    size = 0
    for name, jobs in workflow.group(request.schema).items():
        notes = Notes()
        try:
            text = workflow.render(name, jobs, request.schema, notes)
        except ValueError as error:
            title = f"Failed to generate workflow {name!r}"
            yield hook.error("GITHUB_GENERATE_ERROR", str(error), title=title)
        else:
            size += len(text)
            if not notes.has_errors:
                yield hook.fragment(f".github/workflows/{name}.yml", text, format="yaml")
        yield from notes.diagnostics
        if size > hook.LIMIT:  # the answer is refused already: what follows would only take time
            return


@provider.validate
def validate(request):
    from github_actions import validation
    from github_actions.detection import WORKFLOWS

    for each in request.rendered:
        if each.path.startswith(WORKFLOWS) and each.path.endswith((".yml", ".yaml")):
            if len(each.content) > validation.SIZE_LIMIT:
                message = f"a file of {len(each.content)} characters is not read again"
                yield hook.info("GITHUB_NOT_VALIDATED", message, file=each.path)
                continue
            for problem in validation.problems(each.content):
                yield hook.error("GITHUB_INVALID_WORKFLOW", problem, file=each.path)


@provider.preflight
def preflight(request):
    from github_actions import signature

    return signature.preflight(request)


if __name__ == "__main__":
    provider.run()
