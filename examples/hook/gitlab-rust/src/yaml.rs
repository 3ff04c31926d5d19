//! YAML values: made from the YAML texts inside the schema. Refuses aliases, tags, deep nesting and keys given twice.

use std::collections::HashSet;
use yaml_rust2::parser::{Event, Parser};
use yaml_rust2::scanner::TScalarStyle;

/// Levels of lists and mappings; the host stops at as many in a pipeline file.
const MAX_DEPTH: usize = 32;
/// Events of one text; the host stops at as many in a pipeline file.
const MAX_EVENTS: usize = 100_000;
/// Characters of a key; YAML allows no more without an extra mark.
const MAX_KEY: usize = 1024;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    /// A number, a truth value or null, spelt as it was written: `3.10` must not become 3.1.
    Plain(String),
    List(Vec<Value>),
    Map(Map),
}

/// A mapping that keeps its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map(Vec<(String, Value)>);

impl Map {
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        let value = value.into();
        match self.0.iter_mut().find(|(found, _)| found == key) {
            Some(entry) => entry.1 = value,
            None => self.0.push((key.into(), value)),
        }
    }

    /// For keys that are known to be new: `set` looks through all of them.
    pub fn push(&mut self, key: &str, value: impl Into<Value>) {
        self.0.push((key.into(), value.into()));
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.iter().find(|(found, _)| *found == key).map(|(_, value)| value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    pub fn into_iter(self) -> impl Iterator<Item = (String, Value)> {
        self.0.into_iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Self {
        Value::Map(map)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Value::List(items.into_iter().map(Into::into).collect())
    }
}

impl Value {
    /// The text of anything that is neither a list nor a mapping.
    pub fn scalar(&self) -> Option<&str> {
        match self {
            Value::Text(text) | Value::Plain(text) => Some(text),
            _ => None,
        }
    }

    /// Changes every text in it; keys, numbers and truth values stay.
    pub fn texts(&mut self, change: &mut impl FnMut(&mut String)) {
        match self {
            Value::Text(text) => change(text),
            Value::Plain(_) => (),
            Value::List(items) => items.iter_mut().for_each(|item| item.texts(change)),
            Value::Map(map) => map.0.iter_mut().for_each(|(_, value)| value.texts(change)),
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Value::Plain(text) if matches!(text.as_str(), "null" | "Null" | "NULL" | "~"))
    }
}

/// A list or mapping that is not finished, with the key that waits for its value.
enum Open {
    List(Vec<Value>),
    Map(Map, HashSet<String>, Option<String>),
}

pub fn parse(text: &str) -> Result<Value, String> {
    let mut parser = Parser::new_from_str(text);
    let mut open: Vec<Open> = Vec::new();
    let mut root = None;
    for _ in 0..MAX_EVENTS {
        let (event, _) = parser.next_token().map_err(|why| why.to_string())?;
        let done = match event {
            Event::StreamEnd => return Ok(root.unwrap_or_else(|| Value::Plain("null".into()))),
            Event::DocumentStart if root.is_some() => return Err("more than one document".into()),
            Event::Alias(_) => return Err("aliases are not supported here".into()),
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => return Err("tags are not supported here".into()),
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() == MAX_DEPTH => {
                return Err(format!("nested more than {MAX_DEPTH} deep"));
            }
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Map(Map::default(), HashSet::new(), None));
                continue;
            }
            Event::Scalar(text, style, ..) => scalar(text, style),
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(items)) => Value::List(items),
                Some(Open::Map(map, ..)) => Value::Map(map),
                None => return Err("an end without a start".into()),
            },
            _ => continue,
        };
        match open.last_mut() {
            None => root = Some(done),
            Some(Open::List(items)) => items.push(done),
            Some(Open::Map(map, seen, waiting)) => match waiting.take() {
                Some(key) => map.push(&key, done),
                None => *waiting = Some(key_of(seen, &done)?),
            },
        }
    }
    Err(format!("more than {MAX_EVENTS} values"))
}

fn key_of(seen: &mut HashSet<String>, value: &Value) -> Result<String, String> {
    let key = value.scalar().ok_or("a key is a list or a mapping")?;
    if key.chars().count() > MAX_KEY {
        return Err(format!("a key is longer than {MAX_KEY} characters"));
    }
    if !seen.insert(key.into()) {
        return Err(format!("the key {key:?} is given twice"));
    }
    Ok(key.into())
}

fn scalar(text: String, style: TScalarStyle) -> Value {
    if style != TScalarStyle::Plain {
        Value::Text(text)
    } else if text.is_empty() {
        Value::Plain("null".into())
    } else if is_plain(&text) {
        Value::Plain(text)
    } else {
        Value::Text(text)
    }
}

/// Whether YAML 1.2 takes the unquoted text for something else than text.
fn is_plain(text: &str) -> bool {
    match text {
        "null" | "Null" | "NULL" | "~" => true,
        "true" | "True" | "TRUE" | "false" | "False" | "FALSE" => true,
        ".nan" | ".NaN" | ".NAN" => true,
        _ => is_number(text),
    }
}

fn is_number(text: &str) -> bool {
    let digits = |rest: &str, radix| !rest.is_empty() && rest.chars().all(|c| c.is_digit(radix));
    if let Some(rest) = text.strip_prefix("0x") {
        return digits(rest, 16);
    }
    if let Some(rest) = text.strip_prefix("0o") {
        return digits(rest, 8);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return true;
    }
    // Rust reads `inf` and `nan` as numbers too, YAML does not.
    unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') && text.parse::<f64>().is_ok()
}
