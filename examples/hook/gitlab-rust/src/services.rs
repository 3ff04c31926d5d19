//! Services: names in jobs to containers beside them, by the definitions in the pipeline file.

use crate::findings::Findings;
use crate::messages::{CigenSchema, JobDefinition};
use crate::yaml::{self, Map, Value};
use std::collections::HashMap;

pub struct Services(HashMap<String, Value>);

impl Services {
    pub fn of(schema: &CigenSchema, findings: &mut Findings) -> Self {
        let found = match schema.provider_config.get("services") {
            Some(text) => yaml::parse(text),
            None if schema.jobs.iter().any(|job| !job.services.is_empty()) => {
                in_file(&schema.raw_config_yaml)
            }
            None => Ok(Map::default().into()),
        };
        match found {
            Ok(Value::Map(known)) => Services(known.into_iter().collect()),
            other => {
                findings.error(
                    "GITLAB_GENERATE_ERROR",
                    format!("the services are no mapping: {}", other.err().unwrap_or_default()),
                    "Make them a mapping of names to images, or to mappings with `image`.",
                );
                Services(HashMap::new())
            }
        }
    }

    pub fn of_job(&self, job: &JobDefinition, findings: &mut Findings) -> Vec<Value> {
        job.services.iter().map(|name| self.service(name, findings).into()).collect()
    }

    /// A name without a definition is an image.
    fn service(&self, name: &str, findings: &mut Findings) -> Map {
        let mut service = Map::default();
        let given = match self.0.get(name) {
            Some(Value::Map(given)) => given.clone(),
            Some(image) if image.scalar().is_some() && !image.is_null() => {
                let mut given = Map::default();
                given.push("image", image.clone());
                given
            }
            _ => {
                service.push("name", name);
                return service;
            }
        };
        service.push("name", given.get("image").and_then(Value::scalar).unwrap_or(name));
        service.push("alias", name);
        for (key, value) in given.iter() {
            match key {
                // Reachable at its own ports under its alias.
                "image" | "ports" => (),
                "env" | "environment" | "variables" => service.set("variables", variables(value)),
                "alias" | "command" | "entrypoint" | "pull_policy" => service.set(key, value.clone()),
                _ => findings.warn(
                    "GITLAB_SERVICE",
                    format!("the service {name:?} has {key:?}: left out"),
                    "GitLab waits for the ports of a service by itself.",
                ),
            }
        }
        service
    }
}

/// A mapping; some files have a list of `NAME=value`.
fn variables(value: &Value) -> Value {
    let Value::List(items) = value else { return value.clone() };
    let mut found = Map::default();
    for (name, value) in
        items.iter().filter_map(Value::scalar).map(|each| each.split_once('=').unwrap_or((each, "")))
    {
        found.set(name, value);
    }
    found.into()
}

/// The services that the pipeline file itself defines: not every host passes them on besides.
fn in_file(text: &str) -> Result<Value, String> {
    let nothing = || Map::default().into();
    match yaml::parse(text)? {
        Value::Map(top) => Ok(top.get("services").cloned().unwrap_or_else(nothing)),
        _ => Ok(nothing()),
    }
}
