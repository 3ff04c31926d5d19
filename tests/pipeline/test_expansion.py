"""A job with a matrix becomes a job for each row, and those that need it need them all."""

import pytest

from plughost import pipeline


def parse(text):
    return pipeline.parse(text, "cigen.yml")


def expanded(job, others=""):
    """Return the jobs that the job `t` becomes; *job* is its mapping."""
    return list(parse(f"{others}\njobs: {{t: {job}}}").expanded.jobs)


def rows(definition):
    return [dict(each.values) for each in definition.matrix_rows]


def test_rows_are_all_combinations_and_an_expanded_job_has_none():
    found = parse("jobs: {t: {matrix: {os: [b, a], v: [3.10, 3.9]}}}")
    assert found.order == ("t-b-3.10", "t-b-3.9", "t-a-3.10", "t-a-3.9")
    (native,) = found.native.jobs
    assert {key: list(each.values) for key, each in native.matrix.items()} == {
        "os": ["b", "a"],
        "v": ["3.10", "3.9"],
    }
    assert rows(native) == [{"os": os, "v": v} for os in ("b", "a") for v in ("3.10", "3.9")]
    assert not any(each.matrix_rows or each.matrix for each in found.expanded.jobs)


def test_an_id_has_the_values_sorted_by_their_keys():
    assert parse("jobs: {t: {matrix: {ruby: [3.2], arch: [z]}}}").order == ("t-z-3.2",)


def test_rows_can_be_taken_out_and_put_in():
    found = parse(
        "jobs: {t: {matrix: {os: [a, b], v: [1, 2], exclude: [{os: a, v: 2}, {os: b}],"
        " include: [{v: 3, os: c}, {os: d, extra: x}, {other: y}]}}}"
    )
    assert found.order == ("t-a-1", "t-c-3", "t-x-d", "t-y")
    assert rows(found.native.jobs[0])[1:] == [
        {"os": "c", "v": "3"},
        {"os": "d", "extra": "x"},
        {"other": "y"},
    ]


def test_a_matrix_may_have_included_rows_alone():
    assert parse("jobs: {t: {matrix: {include: [{a: 1}, {a: 2}]}}}").order == ("t-1", "t-2")


def test_what_no_id_can_have_is_an_underscore_in_it():
    assert parse("jobs: {t: {matrix: {image: ['a/b:1', 'ä x']}}}").order == ("t-a_b_1", "t-__x")


@pytest.mark.parametrize(
    "written", ["${{ matrix.v }}", "{{ matrix.v }}", "${{matrix.v}}", "{{  matrix.v\t}}"]
)
def test_both_kinds_of_placeholder_are_replaced(written):
    (found,) = expanded(f"{{matrix: {{v: [3.10]}}, steps: [\"a {written} b\"], image: '{written}'}}")
    assert found.steps[0].run.command == "a 3.10 b"
    assert found.image == "3.10"


def test_placeholders_are_replaced_in_every_text_of_a_job():
    (found,) = expanded(
        """{
  matrix: {v: [x]},
  runner: 'r{{ matrix.v }}', image: 'i{{ matrix.v }}', stage: 's{{ matrix.v }}',
  env: {A: 'e{{ matrix.v }}'}, checkout: {path: 'c{{ matrix.v }}'},
  packages: ['p{{ matrix.v }}', {name: 'n{{ matrix.v }}', with: ['w{{ matrix.v }}']}],
  skip_if: {branch: 'b{{ matrix.v }}'}, services: ['d{{ matrix.v }}'],
  source_files: ['@g{{ matrix.v }}', 'f{{ matrix.v }}'],
  steps: [
    {run: '1{{ matrix.v }}', name: '2{{ matrix.v }}', env: {A: '3{{ matrix.v }}'}, if: '4{{ matrix.v }}'},
    {uses: '5{{ matrix.v }}', with: {a: {b: '6{{ matrix.v }}'}}},
    {restore_cache: 'k{{ matrix.v }}'}, {save_cache: {key: '7{{ matrix.v }}', paths: '8{{ matrix.v }}'}},
    {own: {a: '9{{ matrix.v }}'}},
  ],
  concurrency: {group: '0{{ matrix.v }}'},
}""",
        "services: {dx: i}\nsource_file_groups: {gx: '*'}\ncaches: {kx: {paths: p}}",
    )
    text = str(found)
    assert "{{" not in text
    for mark in "risecpnwbdfk0123456789":
        assert f"{mark}x" in text


def test_a_number_that_replaces_a_whole_text_stays_a_number_and_a_text_stays_one():
    first, second = expanded(
        "{matrix: {v: [3, '4']}, timeout: '${{ matrix.v }}', both: '${{ matrix.v }}${{ matrix.v }}'}"
    )
    assert dict(first.extra) == {"timeout": "3", "both": "'33'"}
    assert dict(second.extra) == {"timeout": "'4'", "both": "'44'"}


def test_a_value_cannot_break_the_yaml_it_is_put_into():
    (found,) = expanded("{matrix: {v: ['a: [b']}, x: {y: 'z{{ matrix.v }}'}, w: '{{ matrix.v }}'}")
    assert dict(found.extra) == {"x": "y: 'za: [b'", "w": "'a: [b'"}


def test_a_row_that_lacks_a_key_has_nothing_in_its_place():
    one, two = expanded("{matrix: {a: [1], include: [{b: 2}]}, steps: ['x{{ matrix.a }}y{{ matrix.b }}z']}")
    assert [each.steps[0].run.command for each in (one, two)] == ["x1yz", "xy2z"]


def test_expressions_are_the_providers_to_evaluate():
    (found,) = expanded("{matrix: {v: [1]}, steps: [{run: x, if: \"${{ matrix.v == '1' }}\"}]}")
    assert getattr(found.steps[0].run, "if") == "${{ matrix.v == '1' }}"


def test_a_job_without_a_matrix_keeps_what_looks_like_placeholders():
    (found,) = expanded("{strategy: {matrix: {os: [a]}}, steps: ['${{ matrix.os }}']}")
    assert found.steps[0].run.command == "${{ matrix.os }}"


def test_what_needs_a_job_needs_all_of_its_rows_sorted():
    found = parse("jobs: {t: {matrix: {v: [b, a]}}, u: {needs: [z, t], matrix: {v: [b, a]}}, z: {}}")
    assert found.order == ("t-b", "t-a", "z", "u-b", "u-a")
    assert [list(each.needs) for each in found.expanded.jobs][3:] == [["t-a", "t-b", "z"]] * 2
    assert [list(each.needs) for each in found.native.jobs] == [[], [], ["z", "t"]]


def test_256_rows_and_4096_jobs_are_the_most():
    sixteen = ", ".join(str(number) for number in range(16))
    each = f"{{matrix: {{a: [{sixteen}], b: [{sixteen}]}}}}"
    found = parse("jobs:\n" + "".join(f"  j{number}: {each}\n" for number in range(16)))
    assert len(found.order) == 4096
