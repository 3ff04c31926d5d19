//! A small JSON reader and string writer.

use std::collections::HashMap;

const MAX_DEPTH: usize = 128;

#[allow(dead_code)] // complete for any plugin, though this one needs no Bool
pub enum Value {
    Null,
    Bool(bool),
    Number(f64),
    String(String),
    Array(Vec<Value>),
    Object(HashMap<String, Value>),
}

impl Value {
    /// The member of an object; None also if this is no object.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Object(members) => members.get(key),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }
}

pub type Result<T> = std::result::Result<T, &'static str>;

pub fn parse(text: &str) -> Result<Value> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.value(0)?;
    match parser.peek() {
        None => Ok(value),
        Some(_) => Err("something follows the JSON value"),
    }
}

/// The text as a JSON string, quotes included.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\0'..='\x1f' => out.push_str(&format!("\\u{:04x}", c as u32)),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte that is no white space; it is not consumed.
    fn peek(&mut self) -> Option<u8> {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        self.byte()
    }

    fn value(&mut self, depth: usize) -> Result<Value> {
        match self.peek() {
            Some(b'{' | b'[') if depth == MAX_DEPTH => Err("nested too deep"),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Value::String),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(_) => self.number(),
            None => Err("a value is missing"),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value> {
        if !self.text[self.at..].starts_with(word) {
            return Err("an unknown word");
        }
        self.at += word.len();
        Ok(value)
    }

    fn object(&mut self, depth: usize) -> Result<Value> {
        let mut members = HashMap::new();
        self.at += 1;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Object(members));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err("a key is missing");
            }
            let key = self.string()?;
            if self.peek() != Some(b':') {
                return Err("a colon is missing");
            }
            self.at += 1;
            members.insert(key, self.value(depth + 1)?);
            if !self.more(b'}')? {
                return Ok(Value::Object(members));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value> {
        let mut items = Vec::new();
        self.at += 1;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if !self.more(b']')? {
                return Ok(Value::Array(items));
            }
        }
    }

    /// Consumes a comma (true) or the closing bracket (false).
    fn more(&mut self, close: u8) -> Result<bool> {
        let next = self.peek();
        self.at += 1;
        match next {
            Some(b',') => Ok(true),
            Some(c) if c == close => Ok(false),
            _ => Err("a comma or closing bracket is missing"),
        }
    }

    fn number(&mut self) -> Result<Value> {
        let start = self.at;
        self.skip(b"-");
        // f64::from_str takes more than JSON does (01, .5, inf), hence the walk.
        if !self.skip(b"0") {
            self.digits()?;
        }
        if self.skip(b".") {
            self.digits()?;
        }
        if self.skip(b"eE") {
            self.skip(b"+-");
            self.digits()?;
        }
        let number = self.text[start..self.at].parse();
        number.map(Value::Number).map_err(|_| "a bad number")
    }

    fn skip(&mut self, any_of: &[u8]) -> bool {
        let found = self.byte().map_or(false, |b| any_of.contains(&b));
        self.at += usize::from(found);
        found
    }

    fn digits(&mut self) -> Result<()> {
        if !self.skip(b"0123456789") {
            return Err("a digit is missing");
        }
        while self.skip(b"0123456789") {}
        Ok(())
    }

    fn string(&mut self) -> Result<String> {
        let mut out = String::new();
        self.at += 1;
        loop {
            let rest = &self.text[self.at..];
            let plain = rest
                .bytes()
                .position(|b| b == b'"' || b == b'\\' || b < 0x20)
                .ok_or("a string does not end")?;
            out.push_str(&rest[..plain]);
            self.at += plain + 1;
            match rest.as_bytes()[plain] {
                b'"' => return Ok(out),
                b'\\' => out.push(self.escape()?),
                _ => return Err("a raw control character in a string"),
            }
        }
    }

    fn escape(&mut self) -> Result<char> {
        let kind = self.byte().ok_or("a string does not end")?;
        self.at += 1;
        match kind {
            b'"' | b'\\' | b'/' => Ok(char::from(kind)),
            b'b' => Ok('\x08'),
            b'f' => Ok('\x0c'),
            b'n' => Ok('\n'),
            b'r' => Ok('\r'),
            b't' => Ok('\t'),
            b'u' => self.unicode(),
            _ => Err("an unknown escape"),
        }
    }

    fn unicode(&mut self) -> Result<char> {
        let mut code = self.hex4()?;
        if (0xD800..0xDC00).contains(&code) && self.text[self.at..].starts_with("\\u") {
            let before = self.at;
            self.at += 2;
            let low = self.hex4()?;
            if (0xDC00..0xE000).contains(&low) {
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            } else {
                self.at = before;
            }
        }
        // Half a surrogate pair is a legal escape, but no char.
        Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex4(&mut self) -> Result<u32> {
        let digits = self.text.get(self.at..self.at + 4).unwrap_or("");
        // from_str_radix alone would take "+123".
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err("a bad \\u escape");
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).map_err(|_| "a bad \\u escape")
    }
}
