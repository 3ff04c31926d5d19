"""A second reading of the hook contract's wire: messages as plain dicts to bytes and back, without protobuf.

It is the oracle of the tests, so it shares nothing with the schema: SHEET is the contract's table of messages, written
out, and the wire format is done by hand. A message is a dict of the fields that are set; a field of a plain type that
holds its default is not set. What is not well-formed raises ValueError.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

SHEET = """
Hello: 1 core_protocol uint32; 2 core_version string; 3 env map<string,string>
PluginInfo: 1 name string; 2 version string; 3 protocol uint32; 4 capabilities repeated string; 5 requires
    repeated string; 6 conflicts_with repeated string; 7 metadata map<string,string>
DetectRequest: 1 repo RepoSnapshot
RepoSnapshot: 1 root_path string; 2 files repeated string; 3 git GitInfo; 4 file_cache map<string,bytes>
GitInfo: 1 branch string; 2 commit_sha string; 3 is_dirty bool; 4 tags repeated string
DetectResult: 1 signals repeated string; 2 facts map<string,string>; 3 confidence float; 4 diagnostics
    repeated Diagnostic
PlanRequest: 1 capabilities repeated string; 2 facts map<string,string>; 3 schema CigenSchema; 4 flags
    map<string,string>; 5 repo RepoSnapshot
CigenSchema: 1 version string; 2 project ProjectConfig; 3 variables map<string,string>; 4 jobs repeated
    JobDefinition; 5 caches map<string,CacheDefinition>; 6 runners map<string,RunnerDefinition>; 7 outputs
    repeated OutputConfig; 8 workflows repeated WorkflowDefinition; 9 source_file_groups
    map<string,StringList>; 10 commands map<string,CommandDefinition>; 11 provider_config
    map<string,string>; 12 raw_config_yaml string
WorkflowDefinition: 1 id string; 2 yaml string; 3 run_when repeated WorkflowCondition
WorkflowCondition: 1 kind WorkflowConditionKind; 2 key string; 3 equals_yaml string; 4 provider string; 5
    expression string
StringList: 1 values repeated string
ProjectConfig: 1 name string; 2 default_runner string
JobDefinition: 1 id string; 2 needs repeated string; 3 matrix map<string,MatrixValue>; 4 packages repeated
    string; 5 steps repeated Step; 6 skip_if SkipConfig; 7 runner string; 8 env map<string,string>; 9
    image string; 10 workflow string; 11 checkout map<string,string>; 12 extra map<string,string>; 13
    source_files repeated string; 14 package_specs repeated PackageSpec; 15 services repeated string; 16
    matrix_rows repeated MatrixRow; 17 stage string
MatrixRow: 1 values map<string,string>
MatrixValue: 1 values repeated string
Step: 1 run RunStep oneof; 2 uses UsesStep oneof; 3 restore_cache RestoreCacheStep
    oneof; 4 save_cache SaveCacheStep oneof; 5 custom CustomStep oneof
RunStep: 1 name string; 2 command string; 3 env map<string,string>; 4 if string
UsesStep: 1 name string; 2 module string; 3 with map<string,string>; 4 if string
RestoreCacheStep: 1 name string; 2 key string; 3 keys repeated string; 4 restore_keys repeated string; 5
    extra map<string,string>
SaveCacheStep: 1 name string; 2 key string; 3 paths repeated string; 4 extra map<string,string>
CustomStep: 1 kind string; 2 yaml string
SkipConfig: 1 paths_unmodified repeated string; 2 env repeated string; 3 branch repeated string
CacheDefinition: 1 paths repeated string; 2 key_parts repeated string; 3 backend string
RunnerDefinition: 1 provider_config map<string,string>
PackageSpec: 1 name string; 2 manager string; 3 path string; 4 version string; 5 extra map<string,string>
CommandDefinition: 1 description string; 2 parameters map<string,CommandParameter>; 3 steps repeated Step;
    4 extra map<string,string>
CommandParameter: 1 type string; 2 description string; 3 default_yaml string; 4 extra map<string,string>
OutputConfig: 1 provider string; 2 path string; 3 description string
PlanResult: 1 resources repeated Resource; 2 deps repeated Dependency; 3 diagnostics repeated Diagnostic
Resource: 1 id string; 2 type ResourceType; 3 attributes map<string,string>; 4 metadata map<string,string>
Dependency: 1 from string; 2 to string; 3 type DependencyType
GenerateRequest: 1 target string; 2 graph repeated Resource; 3 work_signatures map<string,bytes>; 4 schema
    CigenSchema; 5 facts map<string,string>
GenerateResult: 1 fragments repeated Fragment; 2 diagnostics repeated Diagnostic
Fragment: 1 path string; 2 content string; 3 strategy MergeStrategy; 4 order int32; 5 format string
ValidateRequest: 1 rendered repeated Fragment; 2 schema CigenSchema
ValidateResult: 1 diagnostics repeated Diagnostic
Diagnostic: 1 level Diagnostic.Level; 2 code string; 3 title string; 4 message string; 5 fix_hint string;
    6 loc SourceLocation
enum Diagnostic.Level: 0 LEVEL_UNSPECIFIED; 1 LEVEL_ERROR; 2 LEVEL_WARNING; 3 LEVEL_INFO
SourceLocation: 1 file string; 2 line uint32; 3 column uint32; 4 snippet string
PreflightRequest: 1 job_id string; 2 repo_state RepoState; 3 previous_signature bytes
RepoState: 1 commit_sha string; 2 changes repeated FileChange; 3 env map<string,string>
FileChange: 1 path string; 2 type FileChange.ChangeType; 3 checksum bytes
enum FileChange.ChangeType: 0 CHANGE_TYPE_UNSPECIFIED; 1 CHANGE_TYPE_ADDED; 2 CHANGE_TYPE_MODIFIED; 3
    CHANGE_TYPE_DELETED
PreflightResult: 1 should_run bool; 2 reason string; 3 new_signature bytes
enum WorkflowConditionKind: 0 WORKFLOW_CONDITION_KIND_UNSPECIFIED; 1 WORKFLOW_CONDITION_KIND_PARAMETER; 2
    WORKFLOW_CONDITION_KIND_VARIABLE; 3 WORKFLOW_CONDITION_KIND_ENV; 4 WORKFLOW_CONDITION_KIND_EXPRESSION
enum ResourceType: 0 RESOURCE_TYPE_UNSPECIFIED; 1 RESOURCE_TYPE_JOB; 2 RESOURCE_TYPE_STEP; 3
    RESOURCE_TYPE_CACHE; 4 RESOURCE_TYPE_SECRET; 5 RESOURCE_TYPE_ARTIFACT; 6 RESOURCE_TYPE_SERVICE
enum DependencyType: 0 DEPENDENCY_TYPE_UNSPECIFIED; 1 DEPENDENCY_TYPE_REQUIRES; 2
    DEPENDENCY_TYPE_OPTIONAL; 3 DEPENDENCY_TYPE_CONFLICTS
enum MergeStrategy: 0 MERGE_STRATEGY_UNSPECIFIED; 1 MERGE_STRATEGY_REPLACE; 2 MERGE_STRATEGY_MERGE; 3
    MERGE_STRATEGY_APPEND
"""

VARINT, FIXED64, BYTES, GROUP, GROUP_END, FIXED32 = range(6)
DEFAULTS = {"bool": False, "bytes": b"", "float": 0.0, "int32": 0, "string": "", "uint32": 0}
LAST_FIELD = 2**29 - 1  # the highest number that a field can have


class Disputed(Exception):
    """An entry of a map has a third field: some readers skip it, others take the whole entry for unknown."""


class Row(NamedTuple):
    """One field: how often it occurs (once, repeated, map or oneof) and the type of its value."""

    number: int
    name: str
    label: str
    type: str

    @property
    def is_plain(self) -> bool:
        return self.type not in MESSAGES


def _rows(text: str) -> list[Row]:
    rows = []
    for number, name, *words in map(str.split, text.split(";")):
        match words:
            case ["repeated", type_]:
                rows.append(Row(int(number), name, "repeated", type_))
            case [type_, "oneof"]:
                rows.append(Row(int(number), name, "oneof", type_))
            case [type_] if type_.startswith("map<string,"):
                rows.append(Row(int(number), name, "map", type_[len("map<string,") : -1]))
            case [type_]:
                rows.append(Row(int(number), name, "once", type_))
    return rows


_LINES = [line.partition(": ") for line in SHEET.replace("\n    ", " ").strip().splitlines()]
MESSAGES = {name: _rows(text) for name, _, text in _LINES if not name.startswith("enum ")}
ENUMS = {
    name.removeprefix("enum "): [(value, int(number)) for number, value in map(str.split, text.split(";"))]
    for name, _, text in _LINES
    if name.startswith("enum ")
}


# Writing


def varint(number: int) -> bytes:
    number &= 2**64 - 1  # a negative number is written as its two's complement
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def run(number: int, data: bytes) -> bytes:
    """Return *data* as a field that carries its length."""
    return varint(number << 3 | BYTES) + varint(len(data)) + data


def encode(message: str, fields: dict[str, Any]) -> bytes:
    return b"".join(_encode_field(row, fields[row.name]) for row in MESSAGES[message] if row.name in fields)


def _encode_field(row: Row, value: Any) -> bytes:
    if row.label == "repeated":
        return b"".join(_encode_one(row.number, row.type, each) for each in value)
    if row.label == "map":
        entries = [_encode_one(1, "string", key) + _encode_one(2, row.type, value[key]) for key in value]
        return b"".join(run(row.number, entry) for entry in entries)
    return _encode_one(row.number, row.type, value)


def _encode_one(number: int, type_: str, value: Any) -> bytes:
    if type_ in MESSAGES:
        return run(number, encode(type_, value))
    if type_ == "string":
        return run(number, value.encode())
    if type_ == "bytes":
        return run(number, value)
    if type_ == "float":
        return varint(number << 3 | FIXED32) + struct.pack("<f", value)
    return varint(number << 3 | VARINT) + varint(int(value))


# Reading


class _Cursor:
    """Bytes, and how far they were read."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def __bool__(self) -> bool:
        return self.at < len(self.data)

    def take(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise ValueError("cut off")
        self.at += count
        return self.data[self.at - count : self.at]

    def varint(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            byte = self.take(1)[0]
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number & 2**64 - 1
        raise ValueError("a number of more than ten bytes")

    def field(self, depth: int = 0) -> tuple[int, int, Any]:
        """Return a field's number, its wire type and what it carries."""
        number, wire = divmod(self.varint(), 8)
        if not 1 <= number <= LAST_FIELD:
            raise ValueError("no such field number")
        if wire == VARINT:
            return number, wire, self.varint()
        if wire == BYTES:
            return number, wire, self.take(self.varint())
        if wire in (FIXED32, FIXED64):
            return number, wire, self.take(4 if wire == FIXED32 else 8)
        if wire == GROUP:
            while (inner := self.field(depth + 1))[1] != GROUP_END:
                pass
            if inner[0] != number:
                raise ValueError("a group ends as another one")
            return number, wire, None
        if wire == GROUP_END and depth:
            return number, wire, None
        raise ValueError("no such wire type")


def decode(message: str, data: bytes) -> dict[str, Any]:
    return _without_defaults(message, _merge(message, {}, data))


def _merge(message: str, fields: dict[str, Any], data: bytes) -> dict[str, Any]:
    rows = {row.number: row for row in MESSAGES[message]}
    cursor = _Cursor(data)
    while cursor:
        number, wire, value = cursor.field()
        row = rows.get(number)
        if row is not None and wire == _wire_type(row):
            _put(message, row, fields, value)
    return fields


def _wire_type(row: Row) -> int:
    if row.label == "map" or not row.is_plain or row.type in ("string", "bytes"):
        return BYTES
    return FIXED32 if row.type == "float" else VARINT


def _put(message: str, row: Row, fields: dict[str, Any], value: Any) -> None:
    if row.label == "map":
        key, item = _entry(row, value)
        fields.setdefault(row.name, {})[key] = item
    elif row.label == "repeated":
        fields.setdefault(row.name, []).append(_one(row.type, value))
    elif row.is_plain:
        fields[row.name] = _one(row.type, value)
    else:
        if row.label == "oneof":
            for other in MESSAGES[message]:
                if other.name != row.name:
                    fields.pop(other.name, None)
        fields[row.name] = _merge(row.type, fields.get(row.name, {}), value)


def _entry(row: Row, data: bytes) -> tuple[str, Any]:
    key, item = "", {} if not row.is_plain else DEFAULTS[row.type]
    cursor = _Cursor(data)
    while cursor:
        number, wire, value = cursor.field()
        if number == 1 and wire == BYTES:
            key = _one("string", value)
        elif number == 2 and wire == BYTES:  # no map of this contract holds numbers
            item = _one(row.type, value) if row.is_plain else _merge(row.type, item, value)
        else:
            raise Disputed
    return key, item if row.is_plain else _without_defaults(row.type, item)


def _one(type_: str, value: Any) -> Any:
    if type_ in MESSAGES:
        return decode(type_, value)
    if type_ == "string":
        return value.decode()
    if type_ == "bytes":
        return value
    if type_ == "float":
        return struct.unpack("<f", value)[0]
    if type_ == "bool":
        return value != 0
    low = value & 2**32 - 1  # a longer number is cut to 32 bits
    return low if type_ == "uint32" or low < 2**31 else low - 2**32


def _without_defaults(message: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return *fields* without those that hold their default. Minus zero is none, and only its repr says so."""
    kept = {}
    for row in MESSAGES[message]:
        if row.name not in fields:
            continue
        value = fields[row.name]
        if row.label in ("once", "oneof") and not row.is_plain:
            kept[row.name] = _without_defaults(row.type, value)
        elif row.label != "once" or repr(value) != repr(DEFAULTS.get(row.type, 0)):
            kept[row.name] = value
    return kept
