"""The plugin that greets."""

from plughost_sdk.envelope import Plugin


class Hello(Plugin):
    name = "hello"
    version = "1.0.0"
    supported_extensions = (".txt",)
    required_variables = ("operator",)

    def can_handle(self, path, variables):
        return path.suffix == ".txt"

    def transform(self, path, ctx):
        operator = ctx.variables["operator"]
        path.write_text(f"{path.read_text()}hello {operator}\n")
        ctx.log.info("greeted", path=path.name, operator=operator)
