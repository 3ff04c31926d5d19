//! Jobs: one of the schema to one of GitLab. Keys that GitLab does not know are reported and left out.

use crate::findings::Findings;
use crate::messages::{CigenSchema, JobDefinition};
use crate::rules::is_name;
use crate::script::Script;
use crate::text::has_expression;
use crate::yaml::{self, Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Keys beside those of the schema that go over as they are.
const TAKEN_OVER: [&str; 24] = [
    "after_script",
    "allow_failure",
    "artifacts",
    "before_script",
    "cache",
    "coverage",
    "dependencies",
    "environment",
    "hooks",
    "id_tokens",
    "identity",
    "inherit",
    "interruptible",
    "pages",
    "parallel",
    "release",
    "resource_group",
    "retry",
    "rules",
    "secrets",
    "tags",
    "timeout",
    "trigger",
    "when",
];
/// Names of machines that other services lend, which are no images.
const MACHINES: [&str; 3] = ["ubuntu-", "macos-", "windows-"];

/// Where a job stands among the others.
pub struct Place<'a> {
    pub stage: &'a str,
    /// None leaves the waiting to the stages.
    pub needs: Option<Vec<Value>>,
    pub services: Vec<Value>,
    pub rules: Vec<Value>,
}

pub fn translate(schema: &CigenSchema, job: &JobDefinition, place: Place, findings: &mut Findings) -> Map {
    let id = job.id.as_str();
    let script = Script::of(&job.steps, schema, id, findings);
    let mut out = Map::default();
    out.set("stage", place.stage);
    set_image(&mut out, job, findings);
    set_runner(&mut out, schema, job, findings);
    set_unless_empty(&mut out, "services", place.services);
    if let Some(needs) = place.needs {
        out.set("needs", needs);
    }
    let mut variables = variables(&job.env, &format!("the job {id:?}"), findings);
    checkout(&mut variables, job, findings);
    let caches = script.caches.values(schema, id, &mut variables, findings);
    if !variables.is_empty() {
        out.set("variables", variables);
    }
    set_unless_empty(&mut out, "cache", caches);
    if !script.artifacts.is_empty() {
        let mut artifacts = Map::default();
        artifacts.push("paths", script.artifacts);
        out.set("artifacts", artifacts);
    }
    set_unless_empty(&mut out, "rules", place.rules);
    take_over(&mut out, job, findings);
    report_the_rest(job, findings);
    add_lines(&mut out, "script", script.main);
    add_lines(&mut out, "after_script", script.after);
    // An error may be why there is none.
    let explained = findings.has_errors;
    if !explained && ["script", "trigger", "run"].iter().all(|key| out.get(key).is_none()) {
        out.set("script", vec!["echo 'Nothing to run'"]);
        findings.warn(
            "GITLAB_NO_SCRIPT",
            format!("the job {id:?} has nothing to run"),
            "GitLab refuses a job without a script, so it says that it has none.",
        );
    }
    out
}

fn set_unless_empty(out: &mut Map, key: &str, items: Vec<Value>) {
    if !items.is_empty() {
        out.set(key, items);
    }
}

/// After those that the author gave for GitLab alone.
fn add_lines(out: &mut Map, key: &str, lines: Vec<String>) {
    let mut all = match out.get(key) {
        Some(Value::List(given)) => given.clone(),
        Some(one) => vec![one.clone()],
        None => Vec::new(),
    };
    all.extend(lines.into_iter().map(Value::from));
    set_unless_empty(out, key, all);
}

/// Variables of GitLab from settings of the environment.
pub fn variables(env: &BTreeMap<String, String>, whose: &str, findings: &mut Findings) -> Map {
    let mut out = Map::default();
    for (name, value) in env {
        if !is_name(name) {
            findings.warn(
                "GITLAB_VARIABLE",
                format!("{whose} sets {name:?}, which is no name of a variable: left out"),
                "Use letters, digits and `_`.",
            );
            continue;
        }
        if let Some(secret) = secret(value) {
            // A secret of GitLab's is a variable already, and another name for it may be given.
            if secret != name {
                out.push(name, format!("${secret}"));
            }
            continue;
        }
        if has_expression(value) {
            findings.warn(
                "GITLAB_EXPRESSION",
                format!("{whose} sets {name:?} to an expression of GitHub Actions"),
                "GitLab keeps it as it is. Use a variable, such as `$CI_COMMIT_SHA`.",
            );
        }
        out.push(name, value.as_str());
    }
    out
}

/// The name in a value that is `${{ secrets.NAME }}` and nothing else.
fn secret(value: &str) -> Option<&str> {
    let inside = value.trim().strip_prefix("${{")?.strip_suffix("}}")?;
    inside.trim().strip_prefix("secrets.").filter(|name| is_name(name))
}

fn set_image(out: &mut Map, job: &JobDefinition, findings: &mut Findings) {
    // The host says this where a job names none.
    let image = if job.image == "ubuntu-latest" { "" } else { job.image.as_str() };
    if MACHINES.iter().any(|name| image.starts_with(name)) || has_expression(image) {
        findings.warn(
            "GITLAB_IMAGE",
            format!("the image {image:?} of the job {:?} is no image of a container: left out", job.id),
            "Name an image, such as `debian:12`, or a runner with tags.",
        );
    } else if !image.is_empty() {
        out.set("image", image);
    }
}

/// A runner is a mapping under `gitlab`, which goes over as it is, or its tags alone.
fn set_runner(out: &mut Map, schema: &CigenSchema, job: &JobDefinition, findings: &mut Findings) {
    let project = schema.project.clone().unwrap_or_default();
    let name = if job.runner.is_empty() { &project.default_runner } else { &job.runner };
    if name.is_empty() {
        return;
    }
    let text = schema.runners.get(name).and_then(|runner| runner.provider_config.get("gitlab"));
    match text.map(|text| yaml::parse(text)) {
        Some(Ok(Value::Map(settings))) => {
            for (key, value) in settings.iter() {
                if out.get(key).is_none() {
                    out.set(key, value.clone());
                }
            }
        }
        Some(Ok(Value::List(tags))) => out.set("tags", tags),
        Some(Ok(Value::Text(tag))) => out.set("tags", vec![tag]),
        _ => findings.warn(
            "GITLAB_RUNNER",
            format!("the runner {name:?} says nothing of GitLab: any runner may take its jobs"),
            "Give it `gitlab: {tags: [...]}`.",
        ),
    }
}

/// What GitLab does by variables when it checks out.
fn checkout(variables: &mut Map, job: &JobDefinition, findings: &mut Findings) {
    for (key, text) in &job.checkout {
        let value = yaml::parse(text).ok();
        let value = value.as_ref().and_then(Value::scalar).unwrap_or_default();
        match (key.replace('_', "-").as_str(), value) {
            ("fetch-depth" | "depth", depth) if depth.parse::<u32>().is_ok() => {
                variables.set("GIT_DEPTH", depth)
            }
            ("submodules", "recursive") => variables.set("GIT_SUBMODULE_STRATEGY", "recursive"),
            ("submodules", "true") => variables.set("GIT_SUBMODULE_STRATEGY", "normal"),
            ("submodules", "false") => variables.set("GIT_SUBMODULE_STRATEGY", "none"),
            ("lfs", "true") => (),
            ("lfs", "false") => variables.set("GIT_LFS_SKIP_SMUDGE", "1"),
            ("clean", "true") => variables.set("GIT_CLEAN_FLAGS", "-ffdx"),
            ("clean", "false") => variables.set("GIT_CLEAN_FLAGS", "none"),
            _ => findings.warn(
                "GITLAB_CHECKOUT",
                format!("the job {:?} checks out with {key:?}: left out", job.id),
                "GitLab knows fetch-depth, submodules, lfs and clean.",
            ),
        }
    }
}

fn take_over(out: &mut Map, job: &JobDefinition, findings: &mut Findings) {
    for (key, text) in &job.extra {
        let value = match yaml::parse(text) {
            Ok(value) => value,
            Err(why) => {
                findings.error(
                    "GITLAB_GENERATE_ERROR",
                    format!("{key:?} of the job {:?} is no YAML: {why}", job.id),
                    "Correct it in the pipeline file.",
                );
                continue;
            }
        };
        match (key.as_str(), value) {
            ("gitlab", Value::Map(own)) => own.iter().for_each(|(key, value)| out.set(key, value.clone())),
            ("timeout-minutes", minutes)
                if minutes.scalar().is_some_and(|text| text.parse::<u32>().is_ok()) =>
            {
                out.set("timeout", format!("{} minutes", minutes.scalar().unwrap_or_default()));
            }
            // Of other providers, as a mapping of their own; and what is a rule.
            ("github" | "circleci" | "woodpecker" | "buildkite" | "if", _) => (),
            (key, value) if TAKEN_OVER.contains(&key) => out.set(key, value),
            _ => findings.warn(
                "GITLAB_JOB_KEY",
                format!("the job {:?} has {key:?}, which GitLab does not know: left out", job.id),
                "What only GitLab shall see may stand below `gitlab`.",
            ),
        }
    }
}

fn report_the_rest(job: &JobDefinition, findings: &mut Findings) {
    let image = job.image.split(':').next().unwrap_or_default().rsplit('/').next();
    let names: BTreeSet<_> =
        job.packages.iter().chain(job.package_specs.iter().map(|spec| &spec.name)).collect();
    // An image of the same name is taken to have it.
    for name in names.into_iter().filter(|name| Some(name.as_str()) != image) {
        findings.warn(
            "GITLAB_PACKAGES",
            format!("the job {:?} has the package {name:?}, which is not installed", job.id),
            "Choose an image that has it, or install it in a run step.",
        );
    }
    if !job.matrix.is_empty() {
        findings.error(
            "GITLAB_MATRIX",
            format!("the job {:?} has a matrix that is not expanded", job.id),
            "The host expands matrices for providers that do not ask for them.",
        );
    }
}
