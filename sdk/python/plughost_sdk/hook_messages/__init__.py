"""The messages of the `hook` contract: turns the bytes of plugin.binpb into classes. Frames and turns are not here.

`plugin.proto` says what every field holds. Its compiled form, `plugin.binpb`, is loaded by whichever protobuf is
installed, 5.29 to 7; generated Python code would be tied to the release that generated it. Editors and mypy read
`__init__.pyi`. Both are written by `python -m tools.hook_schema`.

The pool is private, so that a program which has compiled another `cigen.plugin.v1` for itself may import both.
"""

try:
    from google.protobuf import descriptor_pool, message_factory
    from google.protobuf.internal import enum_type_wrapper
except ImportError as error:
    raise ImportError(
        'the hook contract speaks protobuf, which is not installed: pip install "plughost-sdk[hook]"',
        name=error.name,
    ) from error

PROTOCOL = 1  # what Hello.core_protocol and PluginInfo.protocol must both say
LIMIT = 10 * 1024 * 1024  # bytes of one message, inclusive: both ends refuse more, so more cannot be sent

_SCHEMA = "plugin.proto"  # the one file of the set, and the name under which the pool knows it


def _load() -> dict[str, object]:
    """Return everything that plugin.binpb defines, by name."""
    pool = descriptor_pool.DescriptorPool()
    # The loader reads from a zip as well, and is here already: importlib.resources would make every start of a
    # plugin longer, by a quarter of what protobuf itself costs it.
    data = __loader__.get_data(__file__.rpartition("__init__.")[0] + "plugin.binpb")
    pool.AddSerializedFile(_only_file(data))
    file = pool.FindFileByName(_SCHEMA)
    names: dict[str, object] = {"DESCRIPTOR": file}
    for name, message in file.message_types_by_name.items():
        names[name] = message_class = message_factory.GetMessageClass(message)
        message_class.__module__ = __name__  # where pickle finds it again
    for name, enum in file.enum_types_by_name.items():
        names[name] = enum_type_wrapper.EnumTypeWrapper(enum)
        names.update((value.name, value.number) for value in enum.values)
    return names


def _only_file(descriptor_set: bytes) -> bytes:
    """Return the one file in a set: what follows its tag and its length.

    By hand, because the classes that read descriptor sets would have to be imported for this alone.
    """
    at = 1  # the tag is one byte; the length ends with the first byte that has no high bit
    while descriptor_set[at] & 0x80:
        at += 1
    return descriptor_set[at + 1 :]


globals().update(_load())
