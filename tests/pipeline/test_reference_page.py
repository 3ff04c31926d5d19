"""The reference of the pipeline file shows only what works, and leaves out no key and no limit."""

import re

import pytest

from plughost import pipeline
from plughost.pipeline import document, job, jobs, matrix, place, schema, steps, yaml_events
from tests.conftest import ROOT

PAGE = (ROOT / "docs/reference/pipeline-file.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.M | re.S)


@pytest.mark.parametrize("text", EXAMPLES, ids=[str(number) for number in range(len(EXAMPLES))])
def test_every_example_is_a_pipeline(text):
    assert pipeline.parse(text, "cigen.yml").order


def test_the_matrix_expands_to_the_jobs_that_the_page_names():
    (text,) = [each for each in EXAMPLES if "exclude:" in each]
    assert all(f"`{name}`" in PAGE for name in pipeline.parse(text, "cigen.yml").order)


@pytest.mark.parametrize(
    "key",
    sorted({*schema._KEYS, *schema.PROVIDERS, *job._KEYS, *steps._KINDS, *steps._RESTORE, *steps._SAVE}),
)
def test_every_key_is_explained(key):
    assert f"`{key}`" in PAGE


@pytest.mark.parametrize(
    "limit",
    [
        f"{matrix.ROW_LIMIT} rows",
        f"{matrix.KEY_LIMIT} keys",
        f"{matrix.VALUE_LIMIT} characters",
        f"{jobs.JOB_LIMIT} jobs",
        f"{place.NAME_LIMIT} of them",
        f"{document.DEPTH_LIMIT} levels",
        f"{document.EVENT_LIMIT // 1000} 000 values",
        f"{document.TEXT_LIMIT // 2**20} MiB of text",
        f"{yaml_events.SIZE_LIMIT // 2**20} MiB",
    ],
)
def test_every_limit_is_named(limit):
    assert limit in PAGE
