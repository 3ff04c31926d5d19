//! Findings: what the author of a pipeline must be told, each once. Errors mean that nothing is generated.

use crate::messages::diagnostic::Level;
use crate::messages::{Diagnostic, Fragment, GenerateResult};
use std::collections::BTreeSet;

#[derive(Default)]
pub struct Findings {
    found: Vec<Diagnostic>,
    seen: BTreeSet<String>,
    pub has_errors: bool,
}

impl Findings {
    pub fn error(&mut self, code: &str, message: String, hint: &str) {
        self.has_errors = true;
        self.add(Level::Error, code, "No .gitlab-ci.yml is generated", message, hint);
    }

    pub fn warn(&mut self, code: &str, message: String, hint: &str) {
        self.add(Level::Warning, code, "GitLab CI cannot express this", message, hint);
    }

    fn add(&mut self, level: Level, code: &str, title: &str, message: String, hint: &str) {
        if self.seen.insert(format!("{code} {message}")) {
            self.found.push(Diagnostic {
                level: level.into(),
                code: code.into(),
                title: title.into(),
                message,
                fix_hint: hint.into(),
                loc: None,
            });
        }
    }

    pub fn into_result(self, fragments: Vec<Fragment>) -> GenerateResult {
        GenerateResult {
            fragments: if self.has_errors { Vec::new() } else { fragments },
            diagnostics: self.found,
        }
    }
}
