"""Every mistake in a pipeline file is an error that names its line and key."""

import pytest

from plughost import pipeline
from plughost.errors import ManifestError
from plughost.pipeline import key_path

JOB = "jobs: {a: {}}\n"
LONGEST = 1_800  # characters of an error: a dozen names of a hundred, and some words


def inside(key, value, before=JOB):
    return f"{before}{key}: {value}\n"


def job(text):
    return f"jobs:\n  a:\n    {text}\n"


def step(text):
    return f"jobs:\n  a:\n    steps:\n      - {text}\n"


WAIT = "commands: {wait: {parameters: {port: {}, host: {default: x}}, steps: []}}\n"
MANY = ", ".join(map(str, range(257)))
WRONG = [
    # the file as a whole
    ("job: {a: {}}", "job", 1),
    ("x-a: 1", "jobs", 1),
    ("jbos: {a: {}}", "jbos", 1),
    (JOB + "provider: '../x'", "provider", 2),
    (JOB + "provider_confg: {}", "provider_confg", 2),
    (JOB + "provider_config: [a]", "provider_config", 2),
    (JOB + "package: [node]", "package", 2),
    (JOB + "packages: [{name: node}]", "packages[0]", 2),
    (JOB + "github: [a]", "github", 2),
    (JOB + "github:", "github", 2),
    (JOB + "version: 2", "version", 2),
    (JOB + "version: 1.0", "version", 2),
    (JOB + "version:", "version", 2),
    (JOB + "providers: [github, github]", "providers[1]", 2),
    (JOB + "providers: [jobs]", "providers[0]", 2),
    (JOB + "providers: [x-mine]", "providers[0]", 2),
    (JOB + "providers: ['../x']", "providers[0]", 2),
    (JOB + "providers: {github: 1}", "providers", 2),
    (JOB + "providers:", "providers", 2),
    # project and variables
    (inside("project", "shop"), "project", 2),
    (inside("project", "{nam: shop}"), "project.nam", 2),
    (inside("project", "{name: }"), "project.name", 2),
    (inside("project", "{name: [a]}"), "project.name", 2),
    (inside("project", "{default_runner: ''}"), "project.default_runner", 2),
    (inside("variables", "[a]"), "variables", 2),
    (inside("variables", "{a: }"), "variables.a", 2),
    (inside("variables", "{a: [1]}"), "variables.a", 2),
    (inside("variables", "{'a b': 1}"), "variables", 2),
    # caches
    (inside("caches", "[a]"), "caches", 2),
    (inside("caches", "{a: {}}"), "caches.a.paths", 2),
    (inside("caches", "{a: {paths: []}}"), "caches.a.paths", 2),
    (inside("caches", "{a: {paths: ['']}}"), "caches.a.paths[0]", 2),
    (inside("caches", "{a: {path: x}}"), "caches.a.path", 2),
    (inside("caches", "{a: {paths: x, colour: y}}"), "caches.a.colour", 2),
    (inside("caches", "{a: {paths: x, key_parts: {b: c}}}"), "caches.a.key_parts", 2),
    (inside("caches", "{a: {paths: x, key_parts: ['@b']}}"), "caches.a.key_parts[0]", 2),
    (inside("caches", "{a: {paths: x, backend: 'a b'}}"), "caches.a.backend", 2),
    (inside("caches", "{.a: {paths: x}}"), "caches", 2),
    # runners, services, groups, outputs
    (inside("runners", "{a: big}"), "runners.a", 2),
    (inside("runners", "{a: {'x y': 1}}"), "runners.a", 2),
    (inside("services", "{a: {}}"), "services.a.image", 2),
    (inside("services", "{a: }"), "services.a", 2),
    (inside("services", "{a: [x]}"), "services.a", 2),
    (inside("services", "{a: {image: [x]}}"), "services.a.image", 2),
    (inside("services", "{a: {image: x, env: [y]}}"), "services.a.env", 2),
    (inside("services", "{a: {image: x, port: 1}}"), "services.a.port", 2),
    (inside("services", "{a: {image: x, ports: {b: c}}}"), "services.a.ports", 2),
    (inside("source_file_groups", "{a: }"), "source_file_groups.a", 2),
    (inside("source_file_groups", "{a: ['@b']}"), "source_file_groups.a[0]", 2),
    (inside("source_file_groups", "\n  a: ['@b']\n  b: ['@a']"), "source_file_groups.a", 3),
    (inside("source_file_groups", "{a: '@a'}"), "source_file_groups.a", 2),
    (inside("source_file_groups", "{a: ['']}"), "source_file_groups.a[0]", 2),
    (inside("outputs", "{provider: a}"), "outputs", 2),
    (inside("outputs", "[{provider: a}]"), "outputs[0].path", 2),
    (inside("outputs", "[{path: a}]"), "outputs[0].provider", 2),
    (inside("outputs", "[{provider: a, path: /etc}]"), "outputs[0].path", 2),
    (inside("outputs", "[{provider: a, path: a/../../b}]"), "outputs[0].path", 2),
    (inside("outputs", "[{provider: a, path: b, to: c}]"), "outputs[0].to", 2),
    (inside("outputs", "[{provider: b, path: c}]", JOB + "providers: [a]\n"), "outputs[0].provider", 3),
    # workflows
    (inside("workflows", "[ci]"), "workflows", 2),
    (inside("workflows", "{ci: text}"), "workflows.ci", 2),
    (inside("workflows", "{../x: {}}"), "workflows", 2),
    (inside("workflows", "{ci: {run_whn: []}}"), "workflows.ci.run_whn", 2),
    (inside("workflows", "{ci: {run_when: {env: A}}}"), "workflows.ci.run_when", 2),
    (inside("workflows", "{ci: {run_when: [x]}}"), "workflows.ci.run_when[0]", 2),
    (inside("workflows", "{ci: {run_when: [{}]}}"), "workflows.ci.run_when[0]", 2),
    (inside("workflows", "{ci: {run_when: [{env: A, variable: B}]}}"), "workflows.ci.run_when[0]", 2),
    (inside("workflows", "{ci: {run_when: [{equals: 1}]}}"), "workflows.ci.run_when[0]", 2),
    (inside("workflows", "{ci: {run_when: [{env: ''}]}}"), "workflows.ci.run_when[0].env", 2),
    (inside("workflows", "{ci: {run_when: [{environ: A}]}}"), "workflows.ci.run_when[0].environ", 2),
    (
        inside("workflows", "{ci: {run_when: [{expression: a, equals: b}]}}"),
        "workflows.ci.run_when[0].equals",
        2,
    ),
    # commands
    (inside("commands", "{a: {}}"), "commands.a.steps", 2),
    (inside("commands", "{a: {step: []}}"), "commands.a.step", 2),
    (inside("commands", "{a: {steps: x}}"), "commands.a.steps", 2),
    (inside("commands", "{a: {steps: [], description: [x]}}"), "commands.a.description", 2),
    (inside("commands", "{a: {steps: [], parameters: [x]}}"), "commands.a.parameters", 2),
    (inside("commands", "{a: {steps: [], parameters: {b: }}}"), "commands.a.parameters.b", 2),
    (inside("commands", "{a: {steps: [], parameters: {b: {typ: c}}}}"), "commands.a.parameters.b.typ", 2),
    (inside("commands", "{a: {steps: [], parameters: {b: {type: []}}}}"), "commands.a.parameters.b.type", 2),
    (inside("commands", "{a: {steps: [{b: }]}, b: {steps: [{a: }]}}"), "commands.a", 2),
    (inside("commands", "{a: {steps: [{save_cache: x}]}}"), "commands.a.steps[0].save_cache.name", 2),
    (WAIT + step("wait:"), "jobs.a.steps[0].wait.port", 5),
    (WAIT + step("wait: {host: x}"), "jobs.a.steps[0].wait.port", 5),
    (WAIT + step("wait: {port: 1, hots: x}"), "jobs.a.steps[0].wait.hots", 5),
    (WAIT + step("wait: 5432"), "jobs.a.steps[0].wait", 5),
    # jobs
    ("jobs:", "jobs", 1),
    ("jobs: {}", "jobs", 1),
    ("jobs: [a]", "jobs", 1),
    ("jobs:\n  a:\n", "jobs.a", 2),
    ("jobs:\n  a: x\n", "jobs.a", 2),
    ("jobs:\n  a b: {}\n", "jobs", 2),
    ("jobs:\n  ../a: {}\n", "jobs", 2),
    ("jobs:\n  a/b: {}\n", "jobs", 2),
    (f"jobs:\n  {'a' * 101}: {{}}\n", "jobs", 2),
    (job("step: [x]"), "jobs.a.step", 3),
    (job("need: b"), "jobs.a.need", 3),
    (job("skip-if: {}"), "jobs.a.skip-if", 3),
    (job("Runner: x"), "jobs.a.Runner", 3),
    (job("needs: b"), "jobs.a.needs", 3),
    (job("needs: [a]"), "jobs.a.needs[0]", 3),
    (job("needs: [b, b]"), "jobs.a.needs[1]", 3),
    (job("needs: {b: c}"), "jobs.a.needs", 3),
    (job("needs:"), "jobs.a.needs", 3),
    ("jobs:\n  a: {needs: b}\n  b: {needs: [c]}\n  c: {needs:\n    [d, a]}\n  d: {}\n", "jobs.a.needs", 2),
    (job("packages: {a: b}"), "jobs.a.packages.name", 3),
    (job("packages: ['']"), "jobs.a.packages[0]", 3),
    (job("packages: [{nam: x}]"), "jobs.a.packages[0].nam", 3),
    (job("packages: [{name: x, version: []}]"), "jobs.a.packages[0].version", 3),
    (job("skip_if: [a]"), "jobs.a.skip_if", 3),
    (job("skip_if: {path: a}"), "jobs.a.skip_if.path", 3),
    (job("skip_if: {env: {a: b}}"), "jobs.a.skip_if.env", 3),
    (job("skip_if: {paths_unmodified: '@x'}"), "jobs.a.skip_if.paths_unmodified", 3),
    (job("runner: ''"), "jobs.a.runner", 3),
    (job("runner: [a]"), "jobs.a.runner", 3),
    (job("env: [A=1]"), "jobs.a.env", 3),
    (job("env: {A: }"), "jobs.a.env.A", 3),
    (job("env: {A: {}}"), "jobs.a.env.A", 3),
    (job("env: {A=B: 1}"), "jobs.a.env", 3),
    (job("env: {'': 1}"), "jobs.a.env", 3),
    (job("image: {name: x}"), "jobs.a.image", 3),
    (job("workflow: a/b"), "jobs.a.workflow", 3),
    (job("workflow: ''"), "jobs.a.workflow", 3),
    ("workflows: {nightly: {}}\n" + job("workflow: nigthly"), "jobs.a.workflow", 4),
    (job("checkout: false"), "jobs.a.checkout", 3),
    (job("services: ['a b']"), "jobs.a.services[0]", 3),
    (job("env: {A: 1}\n    environment: {B: 2}"), "jobs.a.environment", 4),
    ("services: {redis: x}\n" + job("services: [reddis]"), "jobs.a.services[0]", 4),
    (job("source_files: ['@x']"), "jobs.a.source_files[0]", 3),
    (job("source_files: [[x]]"), "jobs.a.source_files[0]", 3),
    (job("stage: []"), "jobs.a.stage", 3),
    # steps
    (job("steps: make"), "jobs.a.steps", 3),
    (job("steps: {run: make}"), "jobs.a.steps", 3),
    (step(""), "jobs.a.steps[0]", 4),
    (step("' '"), "jobs.a.steps[0]", 4),
    (step("[a]"), "jobs.a.steps[0]", 4),
    (step("{}"), "jobs.a.steps[0]", 4),
    (step("x\n      - run:"), "jobs.a.steps[1].run", 5),
    (step("run: [a]"), "jobs.a.steps[0].run", 4),
    (step("runs: a"), "jobs.a.steps[0].runs", 4),
    (step("restore-cache: a"), "jobs.a.steps[0].restore-cache", 4),
    (step("run: a\n        shell: bash"), "jobs.a.steps[0].shell", 5),
    (step("run: a\n        env: b"), "jobs.a.steps[0].env", 5),
    (step("run: a\n        name: {}"), "jobs.a.steps[0].name", 5),
    (step("{run: a, uses: b}"), "jobs.a.steps[0]", 4),
    (step("{own: a, other: b}"), "jobs.a.steps[0]", 4),
    (step("{uses: ''}"), "jobs.a.steps[0].uses", 4),
    (step("{uses: a, with: b}"), "jobs.a.steps[0].with", 4),
    (step("{uses: a, env: {}}"), "jobs.a.steps[0].env", 4),
    (step("restore_cache: pip"), "jobs.a.steps[0].restore_cache.name", 4),
    (step("restore_cache: {name: pip}"), "jobs.a.steps[0].restore_cache.name", 4),
    (step("restore_cache: {}"), "jobs.a.steps[0].restore_cache", 4),
    (step("restore_cache:"), "jobs.a.steps[0].restore_cache", 4),
    (step("restore_cache: {key: a, keyz: b}"), "jobs.a.steps[0].restore_cache.keyz", 4),
    (step("save_cache: {key: a}"), "jobs.a.steps[0].save_cache", 4),
    (step("save_cache: [a]"), "jobs.a.steps[0].save_cache", 4),
    (step("{save_cache: {key: a, paths: b}, name: c}"), "jobs.a.steps[0]", 4),
    (step("'': a"), "jobs.a.steps[0].", 4),
    # matrices
    (job("matrix: [a]"), "jobs.a.matrix[0]", 3),
    (job("matrix: []"), "jobs.a.matrix", 3),
    (job("matrix: [{a: 1}, {a: 1}]"), "jobs.a", 3),
    (job("matrix: [" + ", ".join(f"{{a: {at}}}" for at in range(257)) + "]"), "jobs.a.matrix", 3),
    (step("{run: {name: x}}"), "jobs.a.steps[0].run.command", 4),
    (step("{run: {command: x, comand: y}}"), "jobs.a.steps[0].run.comand", 4),
    (step("{run: {command: x, name: y}, name: z}"), "jobs.a.steps[0].run.name", 4),
    (step("{save_cache: {name: x, key: k}}"), "jobs.a.steps[0].save_cache.name", 4),
    (job("matrix: {}"), "jobs.a.matrix", 3),
    (job("matrix: {v: 1}"), "jobs.a.matrix.v", 3),
    (job("matrix: {v: []}"), "jobs.a.matrix.v", 3),
    (job("matrix: {v: [1, [2]]}"), "jobs.a.matrix.v[1]", 3),
    (job("matrix: {v: [1, ]}\n    steps: ['{{ matrix.w }}']"), "jobs.a.steps", 4),
    (job("matrix: {v: [1, ~]}"), "jobs.a.matrix.v[1]", 3),
    (job("matrix: {v: ['']}"), "jobs.a.matrix.v[0]", 3),
    (job("matrix: {v: [1, '1']}"), "jobs.a.matrix.v", 3),
    (job('matrix: {v: ["a\\nb"]}'), "jobs.a.matrix.v[0]", 3),
    (job("matrix: {v: ['{{ matrix.w }}']}"), "jobs.a.matrix.v[0]", 3),
    (job(f"matrix: {{v: [{'x' * 201}]}}"), "jobs.a.matrix.v[0]", 3),
    (job("matrix: {'a b': [1]}"), "jobs.a.matrix.a b", 3),
    (job(f"matrix: {{v: [{MANY}]}}"), "jobs.a.matrix", 3),
    (job("matrix: {" + ", ".join(f"k{number}: [1]" for number in range(17)) + "}"), "jobs.a.matrix", 3),
    (job("matrix: {v: [1], exclude: {v: 1}}"), "jobs.a.matrix.exclude", 3),
    (job("matrix: {v: [1], exclude: [{v: 1}]}"), "jobs.a.matrix", 3),
    (job("matrix: {v: [1], exclude: [{v: 2}]}"), "jobs.a.matrix.exclude[0]", 3),
    (job("matrix: {v: [1], exclude: [{w: 1}]}"), "jobs.a.matrix.exclude[0].w", 3),
    (job("matrix: {v: [1], exclude: [{}]}"), "jobs.a.matrix.exclude[0]", 3),
    (job("matrix: {v: [1], include: [{v: [2]}]}"), "jobs.a.matrix.include[0].v", 3),
    (job("matrix: {v: [1], include: [{'a b': 2}]}"), "jobs.a.matrix.include[0].a b", 3),
    (job(f"matrix: {{v: [{MANY[:-5]}], include: [{{v: x}}]}}"), "jobs.a.matrix", 3),
    (
        job("matrix: {v: [1], include: [{" + ", ".join(f"k{number}: 1" for number in range(17)) + "}]}"),
        "jobs.a.matrix.include[0]",
        3,
    ),
    (job("matrix: {v: [1], include: [x]}"), "jobs.a.matrix.include[0]", 3),
    (job("matrix: {v: [1], include: [{v: 1}]}"), "jobs.a", 3),
    (job("matrix: {v: ['a b', 'a_b']}"), "jobs.a", 3),
    ("jobs:\n  a: {matrix: {v: [b]}}\n  a-b: {}\n", "jobs.a-b", 3),
    (
        "services: {d: e}\n" + job("matrix: {v: [x]}\n    services: ['d{{ matrix.v }}']"),
        "jobs.a.services[0]",
        5,
    ),
    (job("matrix: {v: [x]}\n    needs: ['{{ matrix.v }}']"), "jobs.a.needs[0]", 4),
    (job("matrix: {v: [x]}\n    workflow: '{{ matrix.v }}'"), "jobs.a.workflow", 4),
    (job("services: ['{{ matrix.v }}']"), "jobs.a.services[0]", 3),
    (
        "jobs:\n" + "".join(f"  j{number}: {{matrix: {{v: [{MANY[:-5]}]}}}}\n" for number in range(17)),
        "jobs.j16",
        18,
    ),
]


@pytest.mark.parametrize(
    ("text", "key", "line"), WRONG, ids=[f"{at}-{key}" for at, (_, key, _) in enumerate(WRONG)]
)
def test_a_mistake_is_named_with_its_line_and_key(text, key, line):
    with pytest.raises(ManifestError) as caught:
        pipeline.parse(text, "cigen.yml")
    error = caught.value
    assert (error.source, error.key, error.problem.partition(":")[0]) == ("cigen.yml", key, f"line {line}")
    assert error.remedy
    assert len(str(error)) < LONGEST


LONG = "x" * 20_000
DEEP = "".join(f"{'  ' * at}{'k' * 250}{at}:\n" for at in range(30))
ENDLESS = {
    "circle": "jobs:\n" + "".join(f"  j{at:0>99}: {{needs: j{(at + 1) % 200:0>99}}}\n" for at in range(200)),
    "circle-of-groups": JOB
    + "source_file_groups:\n"
    + "".join(f"  g{at:0>98}: '@g{(at + 1) % 200:0>98}'\n" for at in range(200)),
    "need": job(f"needs: {LONG}"),
    "need-twice": job(f"needs: [{LONG[:9999]}, {LONG[:9999]}]"),
    "service": "services: {x: y}\n" + job(f"services: [{LONG}]"),
    "cache": "caches: {pip: {paths: a}}\n" + step(f"save_cache: {LONG}"),
    "group": job(f"source_files: '@{LONG}'"),
    "workflow": job(f"workflow: {LONG}"),
    "provider": JOB + f"providers: [{LONG}]",
    "version": JOB + f"version: {LONG}",
    "key": job(f"env: {{}}\n    env{'k' * 256}: 1"),
    "deep": JOB + "github:\n" + "".join(f"  {line}\n" for line in DEEP.splitlines()) + f"{' ' * 62}- !x 1\n",
    "matrix-value": job(f"matrix: {{v: [{LONG}]}}"),
    "matrix-twice": job(f"matrix: {{v: [{LONG[:199]}, {LONG[:199]}]}}"),
    "matrix-key": job(f"matrix: {{v: [1]}}\n    image: '{{{{ matrix.{LONG} }}}}'"),
    "row": job(
        "matrix: {" + ", ".join(f"k{at}: ['{LONG[:199]}!', '{LONG[:199]}?']" for at in range(8)) + "}"
    ),
    "alias": JOB + f"x-a: *{LONG}",
    "anchor": JOB + f"x-a: &{LONG[:9999]} 1\nx-b: &{LONG[:9999]} 2",
    "tag": JOB + f"x-a: !{LONG} 1",
    "variable": job(f"env: {{'{'v' * 255}!': 1}}"),
    "many-names": "caches:\n"
    + "".join(f"  c{at:0>90}: {{paths: a}}\n" for at in range(200))
    + step("save_cache: x"),
    "unprintable": 'jobs: {a: {"\\e[31m\\n": {b: 1}, env: {"\\e[31m": 1}}}',
    "unprintable-keys": 'jobs: {a: {env: {}, "\\e[31m\\n": {"\\u202e": !x 1}}}',
}


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
def test_a_mistake_is_told_in_few_words_that_can_be_printed(text):
    with pytest.raises(ManifestError) as caught:
        pipeline.parse(text, "cigen.yml")
    assert len(str(caught.value)) < LONGEST
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_path_of_keys_is_cut_in_its_middle(over):
    path = "a" * 100 + "b" * (key_path.LONGEST - 100 + over)
    found = key_path.shown(path)
    assert len(found) == min(len(path), key_path.LONGEST)
    assert (found == path) == (over <= 0)
    assert (found[:99], found[-99:]) == (path[:99], path[-99:])


def test_there_are_no_two_cases_of_one_mistake():
    assert len({text for text, _, _ in WRONG}) == len(WRONG) > 80


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("jbos: {a: {}}", "jobs"),
        (JOB + "workflow: {}", "workflows"),
        (job("setps: []"), "steps"),
        ("jobs: {test: {}, b: {needs: tset}}", "test"),
        ("source_file_groups: {python: a}\n" + job("source_files: '@pyhton'"), "python"),
        ("caches: {pip: {paths: a}}\n" + step("save_cache: pi"), "pip"),
        (job("matrix: {python: [1]}\n    image: '{{ matrix.pyton }}'"), "python"),
    ],
)
def test_a_near_miss_is_met_with_what_was_meant(text, meant):
    with pytest.raises(ManifestError) as caught:
        pipeline.parse(text, "cigen.yml")
    assert f"`{meant}`?" in caught.value.remedy


def test_a_circle_is_drawn_with_the_line_of_each_need():
    text = "jobs:\n  z: {}\n  a: {needs: b}\n  b:\n    needs:\n      - z\n      - c\n  c: {needs: [a]}\n"
    with pytest.raises(ManifestError) as caught:
        pipeline.parse(text, "cigen.yml")
    assert "a -> b -> c -> a" in caught.value.problem
    assert "3, 7, 8" in caught.value.problem


def test_the_line_of_what_came_by_an_alias_is_where_it_was_written():
    with pytest.raises(ManifestError) as caught:
        pipeline.parse("x-a: &a\n  needs: [gone]\njobs:\n  b: {<<: *a}\n", "cigen.yml")
    assert (caught.value.key, caught.value.problem.partition(":")[0]) == ("jobs.b.needs[0]", "line 2")


@pytest.mark.parametrize(
    "text",
    [
        job("matrix: {k: [" + "v" * 200 + ", w]}\n    steps: ['" + "{{matrix.k}}" * 80_000 + "']"),
        job(f"matrix: {{k: [{MANY[:-5]}]}}\n    steps: ['" + "x" * 50_000 + "']"),
        "jobs:\n"
        + "".join(
            f"  j{at}: {{needs: [{', '.join(f'j{other}' for other in range(at))}], matrix: {{v: [{MANY[:-5]}]}}}}\n"
            for at in range(16)
        ),
    ],
    ids=["placeholders", "rows", "needs"],
)
def test_what_no_message_can_hold_is_refused_before_it_fills_the_memory(text):
    with pytest.raises(ManifestError) as caught:
        pipeline.parse(text, "cigen.yml")
    assert "no message holds" in caught.value.problem
