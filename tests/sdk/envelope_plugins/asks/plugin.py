"""Asks for a colour, and writes the answer down."""

from plughost_sdk.envelope import Plugin, PluginInputRequired, field


class Asks(Plugin):
    name = "asks"
    version = "1.0.0"
    supported_extensions = (".txt",)

    def can_handle(self, path, variables):
        return True

    def transform(self, path, ctx):
        if "color" not in ctx.extra_inputs:
            raise PluginInputRequired([field("color", "Which colour?")], "The label needs one")
        path.write_text(f"{path.read_text()}{ctx.extra_inputs['color']}\n")
