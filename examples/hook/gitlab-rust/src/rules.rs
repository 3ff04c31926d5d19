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
    if workflows.own_condition(job).is_none() {
        refuse(findings, &whose, &job.extra["if"]);
    }
    let wanted = &workflows.condition(job);
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

    /// Of the job and its workflow; empty if it always runs.
    fn condition(&self, job: &JobDefinition) -> String {
        let all = self.0.get(job.workflow.as_str()).map_or("", String::as_str);
        let own = self.own_condition(job).unwrap_or_default();
        if own.is_empty() { all.into() } else { both(all, &own) }
    }

    /// None if no rule can say it. Rules that the author wrote for GitLab say it already.
    fn own_condition(&self, job: &JobDefinition) -> Option<String> {
        let own = job.extra.get("gitlab").and_then(|text| yaml::parse(text).ok());
        let has_rules = matches!(own, Some(Value::Map(own)) if own.get("rules").is_some());
        match job.extra.get("if") {
            Some(text) if !has_rules && !job.extra.contains_key("rules") => {
                translated(yaml::parse(text).ok()?.scalar()?)
            }
            _ => Some(String::new()),
        }
    }

    /// A job that is there without what it needs has lost its guard: GitLab would start it at once.
    pub fn check_need(&self, job: &JobDefinition, needed: &JobDefinition, findings: &mut Findings) {
        let condition = self.condition(needed);
        if !condition.is_empty() && condition != self.condition(job) {
            findings.error(
                "GITLAB_NEEDS",
                format!(
                    "the job {:?} needs {:?}, which is only there if {condition}: it would not wait",
                    job.id, needed.id
                ),
                "Put both into one workflow, with the same `if`, or give both workflows the same run_when.",
            );
        }
        let (own, other) =
            (job.skip_if.clone().unwrap_or_default(), needed.skip_if.clone().unwrap_or_default());
        if other.env.iter().any(|each| !own.env.contains(each))
            || other.branch.iter().any(|each| !own.branch.contains(each))
        {
            findings.warn(
                "GITLAB_SKIPPED_NEED",
                format!("the job {:?} runs even where {:?} is skipped", job.id, needed.id),
                "Give both the same `env` and `branch` in skip_if.",
            );
        }
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

/// The few conditions of GitHub Actions that everybody writes, in GitLab's words.
fn translated(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text.strip_prefix("${{").and_then(|rest| rest.strip_suffix("}}")).unwrap_or(text);
    let parts: Option<Vec<String>> = text.split("&&").map(|part| comparison(part.trim())).collect();
    Some(parts?.join(" && "))
}

fn comparison(text: &str) -> Option<String> {
    let (sign, at) = ["==", "!="].iter().find_map(|sign| Some((*sign, text.find(sign)?)))?;
    let (name, value) = (text[..at].trim(), text[at + sign.len()..].trim());
    let value = value.strip_prefix('\'')?.strip_suffix('\'').filter(|value| !value.contains('\''))?;
    let (name, value) = match name {
        "github.ref" => match value.strip_prefix("refs/heads/") {
            Some(branch) => ("CI_COMMIT_BRANCH", branch),
            None => ("CI_COMMIT_TAG", value.strip_prefix("refs/tags/")?),
        },
        "github.ref_name" => ("CI_COMMIT_REF_NAME", value),
        "github.event_name" => match value {
            "pull_request" => ("CI_PIPELINE_SOURCE", "merge_request_event"),
            "push" | "schedule" => ("CI_PIPELINE_SOURCE", value),
            "workflow_dispatch" => ("CI_PIPELINE_SOURCE", "web"),
            _ => return None,
        },
        other => {
            let name = other.strip_prefix("vars.").or_else(|| other.strip_prefix("env."))?;
            (Some(name).filter(|name| is_name(name))?, value)
        }
    };
    Some(format!("${name} {sign} {}", literal(value)?))
}

/// Whether `on` says what every pipeline does here anyway: merge requests, and pushes to the main branch.
pub fn is_usual(on: &Value) -> bool {
    let Value::Map(on) = on else {
        return false;
    };
    let nothing = |value: &Value| value.is_null() || matches!(value, Value::Map(map) if map.is_empty());
    let main = Value::List(vec!["main".into()]);
    on.iter().all(|(event, filter)| match (event, filter) {
        ("pull_request", filter) => nothing(filter),
        ("push", Value::Map(push)) => push.iter().all(|(key, value)| key == "branches" && *value == main),
        _ => false,
    }) && on.iter().count() == 2
        && !on.get("push").is_some_and(nothing)
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
        "Write it as `expression` with `provider: gitlab`, in GitLab's own language; for one job, as `rules`.",
    );
}
