//! Values to YAML text: block style, the same bytes for the same values. Quotes whatever a reader of YAML 1.1 or 1.2
//! might take for something else than text, since GitLab reads 1.1 and editors read 1.2.

use crate::yaml::{Map, Value};

const INDENT: usize = 2;
/// Words that some reader takes for truth values or null, in lower case.
const WORDS: [&str; 12] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "nil"];

/// Adds an outermost key and its value, with an empty line before them.
pub fn section(out: &mut String, key: &str, value: &Value) {
    out.push('\n');
    entry(out, key, value, 0);
}

/// A whole document that is read as the value again.
pub fn document(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Map(map) if !map.is_empty() => mapping(&mut out, map, 0, true),
        Value::List(items) if !items.is_empty() => items.iter().for_each(|item| list_item(&mut out, item, 0)),
        other => leaf(&mut out, other, 1),
    }
    out
}

fn entry(out: &mut String, key: &str, value: &Value, depth: usize) {
    inline_text(out, key);
    out.push(':');
    nested(out, value, depth);
}

/// What follows a key: on the same line, or on lines of its own one level deeper.
fn nested(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Map(map) if !map.is_empty() => {
            out.push('\n');
            mapping(out, map, depth + 1, true);
        }
        Value::List(items) if !items.is_empty() => {
            out.push('\n');
            for item in items {
                indent(out, depth + 1);
                list_item(out, item, depth + 1);
            }
        }
        other => {
            out.push(' ');
            leaf(out, other, depth + 1);
        }
    }
}

fn list_item(out: &mut String, item: &Value, depth: usize) {
    out.push('-');
    match item {
        Value::Map(map) if !map.is_empty() => {
            out.push(' ');
            mapping(out, map, depth + 1, false);
        }
        other => nested(out, other, depth),
    }
}

fn mapping(out: &mut String, map: &Map, depth: usize, mut indented: bool) {
    for (key, value) in map.iter() {
        if indented {
            indent(out, depth);
        }
        indented = true;
        entry(out, key, value, depth);
    }
}

fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n(' ', depth * INDENT));
}

fn leaf(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Plain(text) => out.push_str(text),
        Value::Text(text) if fits_block(text) => return block(out, text, depth),
        Value::Text(text) => inline_text(out, text),
        Value::List(_) => out.push_str("[]"),
        Value::Map(_) => out.push_str("{}"),
    }
    out.push('\n');
}

/// A text of several lines as it is, behind `|`.
fn block(out: &mut String, text: &str, depth: usize) {
    let body = text.strip_suffix('\n').unwrap_or(text);
    out.push('|');
    if body.len() == text.len() {
        out.push('-');
    }
    out.push('\n');
    for line in body.split('\n') {
        if !line.is_empty() {
            indent(out, depth);
            out.push_str(line);
        }
        out.push('\n');
    }
}

/// Blanks at the start would be taken for indentation, empty lines at the end run into those that follow, and readers
/// disagree about lines of blanks alone.
fn fits_block(text: &str) -> bool {
    text.contains('\n')
        && !text.starts_with([' ', '\t', '\n'])
        && !text.ends_with("\n\n")
        && text.chars().all(|c| c == '\n' || c == '\t' || is_printable(c))
        && text.split('\n').all(|line| line.is_empty() || !line.trim().is_empty())
}

fn inline_text(out: &mut String, text: &str) {
    if is_safe(text) {
        out.push_str(text);
    } else if text.chars().all(is_printable) {
        out.push('\'');
        out.push_str(&text.replace('\'', "''"));
        out.push('\'');
    } else {
        quote(out, text);
    }
}

fn is_safe(text: &str) -> bool {
    let first = |c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '/' | '(');
    (text.starts_with(first) || text.starts_with('.') && text.contains('/'))
        && text.chars().all(is_printable)
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !WORDS.contains(&text.to_lowercase().as_str())
}

/// Leaves out blanks other than the space, and what ends a line for some readers.
fn is_printable(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if is_printable(c) => out.push(c),
            c => out.push_str(&format!("\\u{:04x}", c as u32)),
        }
    }
    out.push('"');
}
