"""A plugin with a command of its own."""

from plughost_sdk import envelope


class Shout(envelope.Plugin):
    name = "shout"
    version = "2.0"
    supported_extensions = (".txt",)

    def can_handle(self, path, variables):
        return True

    def transform(self, path, ctx):
        path.write_text(path.read_text().upper())


if __name__ == "__main__":
    envelope.run(Shout)
