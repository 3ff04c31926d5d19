//! Services: names in jobs to containers beside them, by the definitions in the pipeline file.

use crate::findings::Findings;
use crate::messages::{CigenSchema, JobDefinition};
use crate::yaml::{self, Map, Value};
use std::collections::HashMap;

pub struct Services(HashMap<String, Value>);

impl Services {
    pub fn of(schema: &CigenSchema, findings: &mut Findings) -> Self {
        let text = schema.provider_config.get("services").map_or("{}", String::as_str);
        match yaml::parse(text) {
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
                "env" | "environment" | "variables" => service.set("variables", value.clone()),
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
