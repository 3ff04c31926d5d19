//! Caches: steps that restore and save to `cache`, which GitLab does before and after the script.

use crate::findings::Findings;
use crate::messages::{CigenSchema, RestoreCacheStep, SaveCacheStep};
use crate::text::replace;
use crate::yaml::{Map, Value};

/// Per job, GitLab's number.
const MAX_CACHES: usize = 4;
/// Directories that tools keep elsewhere, and the variables that move them into the project, where GitLab caches.
const MOVABLE: [(&str, &str); 9] = [
    ("~/.cache/go-build", "GOCACHE"),
    ("~/.cache/pip", "PIP_CACHE_DIR"),
    ("~/.cache/pre-commit", "PRE_COMMIT_HOME"),
    ("~/.cache/uv", "UV_CACHE_DIR"),
    ("~/.cache/yarn", "YARN_CACHE_FOLDER"),
    ("~/.cargo", "CARGO_HOME"),
    ("~/.gradle", "GRADLE_USER_HOME"),
    ("~/.npm", "npm_config_cache"),
    ("~/go/pkg/mod", "GOMODCACHE"),
];
/// Files whose contents make up one key, GitLab's number.
const MAX_KEY_FILES: usize = 2;

#[derive(Default)]
struct Cache {
    name: String,
    key: String,
    paths: Vec<String>,
    restored: bool,
    saved: bool,
}

/// The caches of one job.
#[derive(Default)]
pub struct Caches(Vec<Cache>);

impl Caches {
    pub fn restore(&mut self, step: &RestoreCacheStep, job: &str, findings: &mut Findings) {
        let key = if step.key.is_empty() { step.keys.first() } else { Some(&step.key) };
        self.entry(&step.name, key.map_or("", String::as_str)).restored = true;
        if step.keys.len() > 1 || !step.restore_keys.is_empty() {
            findings.warn(
                "GITLAB_CACHE_KEYS",
                format!("the job {job:?} restores a cache by other keys too, which are left out"),
                "GitLab compares whole keys, not their beginnings.",
            );
        }
    }

    pub fn save(&mut self, step: &SaveCacheStep) {
        let entry = self.entry(&step.name, &step.key);
        entry.saved = true;
        entry.paths.extend(step.paths.iter().cloned());
    }

    fn entry(&mut self, name: &str, key: &str) -> &mut Cache {
        let same =
            |each: &Cache| each.name == name && (each.key == key || key.is_empty() || !name.is_empty());
        let at = self.0.iter().position(same).unwrap_or_else(|| {
            self.0.push(Cache { name: name.into(), key: key.into(), ..Cache::default() });
            self.0.len() - 1
        });
        if self.0[at].key.is_empty() {
            self.0[at].key = key.into();
        }
        &mut self.0[at]
    }

    /// What goes under `cache`; the variables that it takes are set.
    pub fn values(
        &self,
        schema: &CigenSchema,
        job: &str,
        variables: &mut Map,
        findings: &mut Findings,
    ) -> Vec<Value> {
        if self.0.len() > MAX_CACHES {
            findings.warn(
                "GITLAB_CACHE_COUNT",
                format!("the job {job:?} has {} caches, and GitLab takes {MAX_CACHES}", self.0.len()),
                "Put several directories into one cache.",
            );
        }
        self.0
            .iter()
            .take(MAX_CACHES)
            .filter_map(|each| value(each, schema, job, variables, findings))
            .collect()
    }
}

fn value(
    cache: &Cache,
    schema: &CigenSchema,
    job: &str,
    variables: &mut Map,
    findings: &mut Findings,
) -> Option<Value> {
    let known = schema.caches.get(&cache.name).cloned().unwrap_or_default();
    if !matches!(known.backend.as_str(), "" | "native") {
        findings.warn(
            "GITLAB_CACHE_BACKEND",
            format!("the cache {:?} is kept by GitLab, not by {:?}", cache.name, known.backend),
            "Leave `backend` out, or make it native.",
        );
    }
    let wanted = if cache.paths.is_empty() { &known.paths } else { &cache.paths };
    let mut paths = Vec::new();
    for path in wanted {
        let movable = MOVABLE.iter().find(|(known, _)| *known == path.trim_end_matches('/'));
        if let Some((known, variable)) = movable {
            let inside = format!(".cache/{}", known.rsplit('/').next().unwrap_or_default().replace('.', ""));
            variables.set(variable, format!("$CI_PROJECT_DIR/{inside}"));
            paths.push(inside);
        } else if path.starts_with(['/', '~', '$']) {
            findings.warn(
                "GITLAB_CACHE_PATH",
                format!("the job {job:?} caches {path:?}, which is not in the project: left out"),
                "Let the tool keep its cache in a directory of the project, and name that.",
            );
        } else {
            paths.push(path.clone());
        }
    }
    if wanted.is_empty() {
        findings.warn(
            "GITLAB_CACHE_PATH",
            format!("the cache {:?} of the job {job:?} has no paths: left out", cache.name),
            "Define it under `caches`, with `paths`.",
        );
    }
    let mut map = Map::default();
    map.push("key", key(cache, &parts(&known.key_parts, schema), findings));
    map.push("paths", paths.clone());
    match (cache.restored, cache.saved) {
        (true, false) => map.push("policy", "pull"),
        (false, true) => map.push("policy", "push"),
        _ => (),
    }
    (!paths.is_empty()).then(|| map.into())
}

/// The parts of a key, with the files of a group in its place.
fn parts(written: &[String], schema: &CigenSchema) -> Vec<String> {
    let mut found = Vec::new();
    for part in written {
        let group = part.strip_prefix('@').and_then(|name| schema.source_file_groups.get(name));
        match group {
            Some(files) => found.extend(files.values.iter().filter(|file| !file.starts_with('@')).cloned()),
            None => found.push(part.clone()),
        }
    }
    found
}

/// A text, or files with the text before them.
fn key(cache: &Cache, parts: &[String], findings: &mut Findings) -> Value {
    let mut files = Vec::new();
    let mut words: Vec<String> = Vec::new();
    if cache.key.is_empty() {
        words.push(cache.name.clone());
        for part in parts {
            let is_path = part.contains(['.', '/']) && !part.contains(['{', '$', ' ']);
            if is_path { files.push(part.clone()) } else { words.push(key_text(part, &mut files)) }
        }
    } else {
        words.push(key_text(&cache.key, &mut files));
    }
    words.retain(|word| !word.is_empty());
    // GitLab makes a path of the key.
    let prefix = words.join("-").replace('/', "-");
    let prefix = prefix.trim_matches(['-', '.', ' ']).to_owned();
    if files.is_empty() {
        return if prefix.is_empty() { "default".into() } else { prefix.into() };
    }
    if files.len() > MAX_KEY_FILES {
        findings.warn(
            "GITLAB_CACHE_FILES",
            format!("the key of the cache {:?} takes only {:?}", cache.name, &files[..MAX_KEY_FILES]),
            "GitLab makes a key of two files at most.",
        );
        files.truncate(MAX_KEY_FILES);
    }
    let mut key = Map::default();
    key.push("files", files);
    if !prefix.is_empty() {
        key.push("prefix", prefix);
    }
    key.into()
}

/// The text of a key without its checksums, whose files are collected.
fn key_text(text: &str, files: &mut Vec<String>) -> String {
    replace(text, |inside| {
        let (word, rest) = inside.split_at(inside.find([' ', '(']).unwrap_or(inside.len()));
        match word {
            "checksum" | "hashFiles" => {
                let names = rest.trim_matches([' ', '(', ')']).split(',');
                files.extend(names.map(|name| name.trim_matches([' ', '"', '\'']).to_owned()));
                Some(String::new())
            }
            "arch" | "os" | "runner.arch" | "runner.os" => Some("$CI_RUNNER_EXECUTABLE_ARCH".into()),
            _ => None,
        }
    })
}
