"""The greeter with plughost-sdk: compare it with its neighbours, which speak the wire themselves."""

from plughost_sdk import execute

plugin = execute.Plugin("greeter", version="1.0.0")


@plugin.tool
def greet(input, context):
    if not isinstance(input, dict) or not input.get("name"):
        raise execute.PluginError("invalid_input", 'give a name: {"name": "Ada"}')
    return {"text": f"Hello {input['name']}"}


@plugin.tool
def add(input, context):
    numbers = input.get("numbers", []) if isinstance(input, dict) else None
    if not isinstance(numbers, list) or not all(type(each) in (int, float) for each in numbers):
        raise execute.PluginError("invalid_input", 'give numbers: {"numbers": [1, 2]}')
    return {"sum": sum(numbers)}


if __name__ == "__main__":
    plugin.run()
