//! Rules: when a job runs. Turns conditions of workflows, `skip_if` and source files into `rules`; refuses conditions
//! that it cannot express, because a job that runs when it must not is worse than no pipeline.

use crate::findings::Findings;
use crate::messages::{
    CigenSchema, JobDefinition, SkipConfig, WorkflowCondition, WorkflowConditionKind as Kind,
};
use crate::text::has_expression;
use crate::yaml::{self, Map, Value};
use std::collections::{HashMap, HashSet};

const MERGE_REQUEST: &str = "$CI_PIPELINE_SOURCE == \"merge_request_event\"";
const NO_MERGE_REQUEST: &str = "$CI_PIPELINE_SOURCE != \"merge_request_event\"";

/// When there is a pipeline at all: for merge requests, the default branch and tags, and never twice for one push.
pub fn of_pipeline() -> Value {
    let conditions = [MERGE_REQUEST, "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH", "$CI_COMMIT_TAG"];
    let mut workflow = Map::default();
    workflow.push("rules", conditions.iter().map(|each| rule(each, &[], "")).collect::<Vec<_>>());
    workflow.into()
}

/// Empty if the job always runs.
pub fn of_job(
    schema: &CigenSchema,
    workflows: &Workflows,
    job: &JobDefinition,
    findings: &mut Findings,
) -> Vec<Value> {
    let whose = format!("the job {:?}", job.id);
    let skip = job.skip_if.clone().unwrap_or_default();
    let mut rules = Vec::new();
    for setting in &skip.env {
        let (name, value) = setting.split_once('=').map_or((setting.as_str(), None), |(n, v)| (n, Some(v)));
        let condition = is_name(name).then(|| match value {
            Some(value) => literal(value).map(|value| format!("${name} == {value}")),
            None => Some(format!("${name}")),
        });
        match condition.flatten() {
            Some(condition) => rules.push(rule(&condition, &[], "never")),
            None => refuse(findings, &whose, setting),
        }
    }
    for branch in &skip.branch {
        match branch_condition(branch) {
            Some(condition) => rules.push(rule(&condition, &[], "never")),
            None => refuse(findings, &whose, branch),
        }
    }
    let wanted = workflows.condition(job);
    let files = watched(schema, job, &skip.paths_unmodified, findings);
    if !files.is_empty() {
        // Elsewhere GitLab compares with the last push, and would skip after a push that failed.
        rules.push(rule(&both(wanted, MERGE_REQUEST), &files, ""));
        rules.push(rule(&both(wanted, NO_MERGE_REQUEST), &[], ""));
    } else if !wanted.is_empty() || !rules.is_empty() {
        rules.push(rule(wanted, &[], if wanted.is_empty() { "on_success" } else { "" }));
    }
    rules
}

fn rule(condition: &str, files: &[String], when: &str) -> Value {
    let mut rule = Map::default();
    if !condition.is_empty() {
        rule.push("if", condition);
    }
    if !files.is_empty() {
        rule.push("changes", files.to_vec());
    }
    if !when.is_empty() {
        rule.push("when", when);
    }
    rule.into()
}

fn both(left: &str, right: &str) -> String {
    if left.is_empty() { right.into() } else { format!("{left} && {right}") }
}

/// The conditions of each workflow, all of them together; empty if it has none.
pub struct Workflows<'a>(HashMap<&'a str, String>);

impl<'a> Workflows<'a> {
    pub fn of(schema: &'a CigenSchema, findings: &mut Findings) -> Self {
        let mut known = HashMap::new();
        for workflow in &schema.workflows {
            let mut all = String::new();
            for condition in &workflow.run_when {
                if !matches!(condition.provider.as_str(), "" | "gitlab") {
                    continue;
                }
                match expression(condition) {
                    Some(one) => all = both(&all, &one),
                    None => refuse(
                        findings,
                        &format!("the workflow {:?}", workflow.id),
                        &format!("{} {}", condition.key, condition.expression),
                    ),
                }
            }
            known.insert(workflow.id.as_str(), all);
        }
        Workflows(known)
    }

    fn condition(&self, job: &JobDefinition) -> &str {
        self.0.get(job.workflow.as_str()).map_or("", String::as_str)
    }

    /// Whether `needed` is in every pipeline that `job` is in.
    pub fn come_together(&self, job: &JobDefinition, needed: &JobDefinition) -> bool {
        let skip = needed.skip_if.clone().unwrap_or_default();
        let free = needed.source_files.is_empty() && skip == SkipConfig::default();
        let same = job.source_files == needed.source_files && job.skip_if == needed.skip_if;
        let condition = self.condition(needed);
        (condition.is_empty() || condition == self.condition(job)) && (free || same)
    }
}

fn expression(condition: &WorkflowCondition) -> Option<String> {
    let key = &condition.key;
    match condition.kind() {
        // What others call parameters are variables of the pipeline here.
        Kind::Parameter | Kind::Variable | Kind::Env if is_name(key) => {
            if condition.equals_yaml.is_empty() {
                return Some(format!("${key}"));
            }
            match yaml::parse(&condition.equals_yaml).ok()? {
                Value::List(items) if !items.is_empty() => {
                    let each: Option<Vec<_>> = items.iter().map(|item| equals(key, item)).collect();
                    Some(format!("({})", each?.join(" || ")))
                }
                other => equals(key, &other),
            }
        }
        Kind::Expression => {
            let text = condition.expression.trim();
            let fits = !text.is_empty() && !text.contains('\n') && !has_expression(text);
            fits.then(|| format!("({text})"))
        }
        _ => None,
    }
}

fn equals(key: &str, value: &Value) -> Option<String> {
    if value.is_null() {
        return Some(format!("${key} == null"));
    }
    Some(format!("${key} == {}", literal(value.scalar()?)?))
}

/// GitLab's texts in conditions know no escapes.
fn literal(text: &str) -> Option<String> {
    let mark = ['"', '\''].into_iter().find(|mark| !text.contains(*mark))?;
    (!text.contains(['\n', '\r'])).then(|| format!("{mark}{text}{mark}"))
}

/// `*` stands for any text in the name of a branch.
fn branch_condition(branch: &str) -> Option<String> {
    if !branch.contains('*') {
        return literal(branch).map(|branch| format!("$CI_COMMIT_REF_NAME == {branch}"));
    }
    let mut pattern = String::new();
    for c in branch.chars() {
        match c {
            '*' => pattern.push_str(".*"),
            c if c.is_alphanumeric() || matches!(c, '-' | '_') => pattern.push(c),
            c if c.is_control() => return None,
            c => pattern.extend(['\\', c]),
        }
    }
    Some(format!("$CI_COMMIT_REF_NAME =~ /^{pattern}$/"))
}

pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The files that make a merge request run the job, with `@group` opened up.
fn watched(
    schema: &CigenSchema,
    job: &JobDefinition,
    unmodified: &[String],
    findings: &mut Findings,
) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for each in job.source_files.iter().chain(unmodified) {
        match each.strip_prefix('@') {
            None => files.push(each.clone()),
            Some(group) => match schema.source_file_groups.get(group) {
                Some(list) => files.extend(list.values.iter().cloned()),
                None => refuse(findings, &format!("the job {:?}", job.id), each),
            },
        }
    }
    let mut seen = HashSet::new();
    files.retain(|file| seen.insert(file.clone()));
    files
}

fn refuse(findings: &mut Findings, whose: &str, what: &str) {
    findings.error(
        "GITLAB_CONDITION",
        format!("{whose} has a condition that no rule of GitLab can express: {:?}", what.trim()),
        "Write it as `expression` with `provider: gitlab`, in GitLab's own language.",
    );
}
