"""A report as JSON and JUnit."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

from plughost.conformance.report import Axis, Report, Status

REPORT = Report(
    "execute",
    'we"ird <name>',
    (
        Axis("execute:a:b", "It MUST.", Status.PASSED),
        Axis("execute:a:c", "It MUST & <more>.", Status.FAILED, "it wrote '\x1b[31m\x00' & <that>"),
        Axis("execute:a:d", "It MAY.", Status.SKIPPED, "no need"),
    ),
)


def test_a_report_with_a_failed_axis_has_not_passed() -> None:
    assert not REPORT.passed
    assert Report("execute", "x", REPORT.axes[::2]).passed


def test_the_json_has_contract_and_axes() -> None:
    found = json.loads(json.dumps(REPORT.to_dict()))
    assert found["contract"] == "execute"
    assert [axis["status"] for axis in found["axes"]] == ["passed", "failed", "skipped"]
    assert all(set(axis) == {"id", "name", "status", "detail"} for axis in found["axes"])


def test_the_junit_is_well_formed_whatever_a_plugin_wrote() -> None:
    suite = ElementTree.fromstring(REPORT.to_junit())[0]
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["skipped"]) == ("3", "1", "1")
    assert suite[1][0].tag == "failure"
    assert suite[2][0].tag == "skipped"
