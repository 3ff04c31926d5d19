"""Of whatever is made up: a file is a pipeline or a ManifestError, and expansion and order are what they should be."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from plughost import pipeline
from plughost.errors import ManifestError
from plughost.pipeline import definitions, job, schema, steps, yaml_text
from plughost.pipeline.node import Mapping, Scalar, Sequence

WORDS = [
    *schema._KEYS,
    *job._KEYS,
    *steps._RUN,
    *steps._USES,
    *steps._RESTORE,
    *steps._SAVE,
    *definitions._KINDS,
    *("include", "exclude", "paths", "key_parts", "backend", "image", "ports", "restore_cache", "save_cache"),
    *("run_when", "equals", "provider", "parameters", "default", "type", "description", "manager", "version"),
    *(
        "a",
        "b",
        "@a",
        "1",
        "3.10",
        "true",
        "null",
        "${{ matrix.a }}",
        "{{ matrix.b }}",
        "a b",
        "../x",
        "",
        "github",
    ),
]
SCALARS = st.builds(
    Scalar, st.sampled_from(WORDS) | st.text(st.characters(codec="utf-8"), max_size=5), st.just("'")
)
NUMBERS = st.sampled_from(["1", "3.10", "true", "null", "~"]).map(Scalar)


def mapping(entries):
    return Mapping(entries, {key: Scalar(key, "'") for key in entries})


VALUES = st.recursive(
    SCALARS | NUMBERS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: Sequence(tuple(items))),
        st.dictionaries(st.sampled_from(WORDS), inner, max_size=4).map(mapping),
    ),
    max_leaves=20,
)
JOB = st.dictionaries(st.sampled_from(job._KEYS), VALUES, max_size=4).map(mapping)
FILES = st.builds(
    lambda sections, jobs: mapping({**sections, "jobs": jobs}),
    st.dictionaries(st.sampled_from(schema._KEYS), VALUES, max_size=4),
    st.dictionaries(st.sampled_from("abc"), JOB, max_size=3).map(mapping),
)


@given(FILES)
def test_any_file_is_a_pipeline_or_a_manifest_error(node):
    text = yaml_text.dump(node)
    try:
        found = pipeline.parse(text, "cigen.yml")
    except ManifestError as error:
        line = int(error.problem.removeprefix("line ").partition(":")[0])
        if not 1 <= line <= text.count("\n") + 1:
            raise AssertionError(f"no such line: {line}") from error
        return
    assert found.order == tuple(each.id for each in found.expanded.jobs)


VALUE_LISTS = st.lists(st.sampled_from(["x", "y", "1", "3.10", "z"]), min_size=1, max_size=4, unique=True)
MATRICES = st.dictionaries(st.sampled_from(["k", "l", "m"]), VALUE_LISTS, max_size=3)


@st.composite
def pipelines(draw):
    """Return job names with their matrices and what they need: only jobs that come before them in some order."""
    names = draw(st.lists(st.sampled_from([*"abcdefgh"]), min_size=1, max_size=6, unique=True))
    found = {
        name: (draw(MATRICES), sorted(draw(st.sets(st.sampled_from(names[:at]))) if at else []))
        for at, name in enumerate(names)
    }
    return {name: found[name] for name in draw(st.permutations(names))}


def written(jobs):
    lines = ["jobs:"]
    for name, (matrix, needs) in jobs.items():
        lines += [f"  {name}:", f"    needs: [{', '.join(needs)}]"]
        if matrix:
            lines.append(
                "    matrix: {"
                + ", ".join(f"{key}: [{', '.join(each)}]" for key, each in matrix.items())
                + "}"
            )
    return "\n".join(lines)


@given(pipelines())
def test_there_is_a_job_for_each_combination_and_each_comes_after_what_it_needs(jobs):
    found = pipeline.parse(written(jobs), "cigen.yml")
    rows = {
        name: list(itertools.product(*(matrix[key] for key in sorted(matrix))))
        for name, (matrix, _) in jobs.items()
    }
    ids = {name: ["-".join((name, *row)) for row in each] for name, each in rows.items()}
    assert sorted(found.order) == sorted(itertools.chain.from_iterable(ids.values()))
    for at, each in enumerate(found.expanded.jobs):
        _, needs = jobs[each.id[0]]
        assert list(each.needs) == sorted(itertools.chain.from_iterable(ids[name] for name in needs))
        assert set(each.needs) <= set(found.order[:at])


@given(pipelines())
def test_the_rows_of_a_job_stand_together_in_order(jobs):
    found = pipeline.parse(written(jobs), "cigen.yml")
    assert [name for name, _ in itertools.groupby(found.order, key=lambda each: each[0])] == [
        each.id for each in found.native.jobs
    ]
