//! Steps to a script: run steps as they are, commands of the schema opened up, caches collected. What a script cannot
//! do is left out and reported, never dropped in silence.

use crate::cache::Caches;
use crate::emit;
use crate::findings::Findings;
use crate::messages::step::StepType;
use crate::messages::{CigenSchema, CommandDefinition, CustomStep, RunStep, Step, UsesStep};
use crate::rules::is_name;
use crate::text::{has_expression, replace};
use crate::yaml::{self, Value};
use prost::Message;
use std::collections::BTreeMap;

/// Commands inside commands; more is a command that calls itself.
const MAX_DEPTH: usize = 8;
/// Steps of one job with all commands opened up.
const MAX_STEPS: usize = 10_000;
/// Bytes that commands add to one job: a parameter used twice in each of them doubles every time.
const MAX_ADDED: usize = 1_048_576;

/// What GitLab does by itself, and steps in other providers' own words.
const NOT_OURS: [&str; 5] = ["checkout", "github", "circleci", "woodpecker", "buildkite"];

type Parameters = BTreeMap<String, String>;

pub struct Script<'a> {
    pub main: Vec<String>,
    /// What runs whether the rest failed or not.
    pub after: Vec<String>,
    pub caches: Caches,
    pub artifacts: Vec<String>,
    schema: &'a CigenSchema,
    job: &'a str,
    steps: usize,
    added: usize,
}

impl<'a> Script<'a> {
    pub fn of(steps: &[Step], schema: &'a CigenSchema, job: &'a str, findings: &mut Findings) -> Self {
        let mut script = Script {
            main: Vec::new(),
            after: Vec::new(),
            caches: Caches::default(),
            artifacts: Vec::new(),
            schema,
            job,
            steps: 0,
            added: 0,
        };
        script.add(steps, None, 0, findings);
        script
    }

    fn add(&mut self, steps: &[Step], given: Option<&Parameters>, depth: usize, findings: &mut Findings) {
        for step in steps {
            self.steps += 1;
            if self.steps > MAX_STEPS || depth > MAX_DEPTH {
                return findings.error(
                    "GITLAB_TOO_MANY_STEPS",
                    format!("the job {:?} has more steps than a pipeline can hold", self.job),
                    "Look for a command that calls itself.",
                );
            }
            // What stands in the job itself is as long as its author made it.
            self.added += given.map_or(0, |_| step.encoded_len());
            let filled = given.filter(|_| self.has_room()).map(|given| self.fill(step, given, findings));
            if !self.has_room() {
                return findings.error(
                    "GITLAB_TOO_LONG",
                    format!("commands add more than {MAX_ADDED} bytes to the job {:?}", self.job),
                    "Look for commands that put a parameter in several times.",
                );
            }
            let step = filled.unwrap_or_else(|| step.clone());
            match &step.step_type {
                Some(StepType::Run(run)) => self.run(run, findings),
                Some(StepType::RestoreCache(step)) => self.caches.restore(step, self.job, findings),
                Some(StepType::SaveCache(step)) => self.caches.save(step),
                Some(StepType::Custom(custom)) => self.custom(custom, depth, findings),
                // GitLab has checked out before the script begins.
                Some(StepType::Uses(uses)) if uses.module.starts_with("actions/checkout") => (),
                Some(StepType::Uses(uses)) => self.uses(uses, findings),
                None => self.leave_out("says nothing", "Remove it.", findings),
            }
        }
    }

    fn has_room(&self) -> bool {
        self.added <= MAX_ADDED
    }

    /// Of all that a step may use, GitLab itself does one thing: it keeps files.
    fn uses(&mut self, uses: &UsesStep, findings: &mut Findings) {
        let path = uses.with.get("path").and_then(|text| yaml::parse(text).ok());
        match path.as_ref().and_then(Value::scalar) {
            Some(paths) if uses.module.starts_with("actions/upload-artifact") && uses.r#if.is_empty() => {
                self.artifacts
                    .extend(paths.lines().map(str::trim).filter(|path| !path.is_empty()).map(Into::into));
            }
            _ => self.leave_out(
                &format!("uses {:?}", uses.module),
                "Run the same commands in a run step.",
                findings,
            ),
        }
    }

    fn run(&mut self, run: &RunStep, findings: &mut Findings) {
        if has_expression(&run.command) {
            findings.warn(
                "GITLAB_EXPRESSION",
                format!("the job {:?} runs a command with an expression of GitHub Actions in it", self.job),
                "GitLab passes it to the shell as it is. Use a variable.",
            );
        }
        let condition = run.r#if.trim();
        let condition =
            condition.strip_prefix("${{").and_then(|rest| rest.strip_suffix("}}")).unwrap_or(condition);
        match condition.trim() {
            "" | "success()" => self.main.push(self.command(run, findings)),
            "always()" => self.after.push(self.command(run, findings)),
            other => self.leave_out(
                &format!("runs only if {other}"),
                "Test the condition in the command itself.",
                findings,
            ),
        }
    }

    /// The command, below its name as a comment. Settings for this step alone need a shell of their own.
    fn command(&self, run: &RunStep, findings: &mut Findings) -> String {
        let mut lines = String::new();
        if !run.name.is_empty() {
            lines.push_str(&format!("# {}\n", run.name.replace(['\n', '\r'], " ")));
        }
        if run.env.is_empty() {
            return lines + &run.command;
        }
        lines.push_str("(\n");
        for (name, value) in &run.env {
            if is_name(name) {
                lines.push_str(&format!("export {name}='{}'\n", value.replace('\'', "'\\''")));
            } else {
                self.leave_out(&format!("sets {name:?}"), "Use letters, digits and `_`.", findings);
            }
        }
        lines + run.command.trim_end_matches('\n') + "\n)"
    }

    fn custom(&mut self, custom: &CustomStep, depth: usize, findings: &mut Findings) {
        let schema = self.schema;
        match schema.commands.get(&custom.kind) {
            Some(command) => match parameters(command, custom) {
                Ok(given) => self.add(&command.steps, Some(&given), depth + 1, findings),
                Err(why) => self.leave_out(
                    &format!("calls {:?} wrongly: {why}", custom.kind),
                    "Give the parameters as a mapping of names to values.",
                    findings,
                ),
            },
            None if NOT_OURS.contains(&custom.kind.as_str()) => (),
            None => self.leave_out(
                &format!("is of the kind {:?}", custom.kind),
                "Define a command of that name, or use a run step.",
                findings,
            ),
        }
    }

    /// The step with the parameters of the command put in, as far as there is room for them.
    fn fill(&mut self, step: &Step, given: &Parameters, findings: &mut Findings) -> Step {
        let mut put = |text: &mut String| {
            *text = replace(text, |inside| {
                let name = inside.strip_prefix("parameters.")?;
                let Some(value) = given.get(name) else {
                    findings.warn(
                        "GITLAB_PARAMETER",
                        format!("a step of the job {:?} asks for {name:?}, which has no value", self.job),
                        "Give the parameter a default.",
                    );
                    return None;
                };
                self.added = self.added.saturating_add(value.len());
                (self.added <= MAX_ADDED).then(|| value.clone())
            });
        };
        let mut step = step.clone();
        match &mut step.step_type {
            Some(StepType::Run(run)) => {
                [&mut run.name, &mut run.command, &mut run.r#if].into_iter().for_each(&mut put);
                run.env.values_mut().for_each(put);
            }
            Some(StepType::RestoreCache(cache)) => {
                [&mut cache.name, &mut cache.key].into_iter().for_each(&mut put);
                cache.keys.iter_mut().for_each(put);
            }
            Some(StepType::SaveCache(cache)) => {
                [&mut cache.name, &mut cache.key].into_iter().for_each(&mut put);
                cache.paths.iter_mut().for_each(put);
            }
            Some(StepType::Custom(custom)) => custom.yaml = put_into_yaml(&custom.yaml, &mut put),
            Some(StepType::Uses(uses)) => {
                put(&mut uses.module);
                uses.with.values_mut().for_each(|text| *text = put_into_yaml(text, &mut put));
            }
            None => (),
        }
        step
    }

    fn leave_out(&self, what: &str, hint: &str, findings: &mut Findings) {
        findings.warn(
            "GITLAB_STEP",
            format!("the job {:?} has a step that {what}: left out", self.job),
            hint,
        );
    }
}

/// Puts parameters into the texts that the YAML holds, so that none can become more than a text. What is no YAML is
/// left for its reader to refuse.
fn put_into_yaml(text: &str, put: &mut impl FnMut(&mut String)) -> String {
    match yaml::parse(text) {
        Ok(mut value) => {
            value.texts(put);
            emit::document(&value)
        }
        Err(_) => text.into(),
    }
}

fn parameters(command: &CommandDefinition, custom: &CustomStep) -> Result<Parameters, String> {
    let mut given = Parameters::new();
    for (name, parameter) in &command.parameters {
        if !parameter.default_yaml.is_empty() {
            let value = yaml::parse(&parameter.default_yaml)?;
            given.insert(name.clone(), text(&value)?);
        }
    }
    match called(yaml::parse(&custom.yaml)?, &custom.kind) {
        Value::Map(map) => {
            for (name, value) in map.iter() {
                given.insert(name.into(), text(value)?);
            }
        }
        nothing if nothing.is_null() || nothing.scalar() == Some(custom.kind.as_str()) => (),
        _ => return Err("its parameters are no mapping".into()),
    }
    Ok(given)
}

/// What is below the kind of a step: a host sends all of the step, and some only that.
fn called(step: Value, kind: &str) -> Value {
    match step {
        Value::Map(map) if map.iter().count() == 1 && map.get(kind).is_some() => {
            map.get(kind).cloned().expect("it is there")
        }
        other => other,
    }
}

fn text(value: &Value) -> Result<String, String> {
    value.scalar().map(str::to_owned).ok_or_else(|| "a parameter is a list or a mapping".into())
}
