//! Texts with places in them, `${{ name }}`, `{{ name }}` or `<< name >>`: finds the places, one pass, left to right.

/// Bytes between the marks of a place: longer ones are no places, and looking for their ends stays cheap.
const MAX_PLACE: usize = 256;
const MARKS: [(&str, &str); 3] = [("${{", "}}"), ("{{", "}}"), ("<<", ">>")];

/// The text with each place replaced by what `fill` gives for its trimmed inside; None leaves it as it is.
pub fn replace(text: &str, mut fill: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['$', '{', '<']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let filled = place(rest).and_then(|(inside, size)| Some((fill(inside)?, size)));
        match filled {
            Some((value, size)) => {
                out.push_str(&value);
                rest = &rest[size..];
            }
            None => {
                // The whole opening mark, so that `${{ x }}` is not tried again as `{{ x }}`.
                let size = opening(rest).map_or(1, str::len);
                out.push_str(&rest[..size]);
                rest = &rest[size..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// Whether the text asks for something that only GitHub Actions would fill in.
pub fn has_expression(text: &str) -> bool {
    text.contains("${{")
}

fn opening(text: &str) -> Option<&'static str> {
    MARKS.iter().map(|(open, _)| *open).find(|open| text.starts_with(open))
}

fn place(text: &str) -> Option<(&str, usize)> {
    let (open, close) = MARKS.iter().find(|(open, _)| text.starts_with(open))?;
    let inside = &text[open.len()..];
    let end = find_within(inside, close, MAX_PLACE)?;
    Some((inside[..end].trim(), open.len() + end + close.len()))
}

fn find_within(text: &str, wanted: &str, limit: usize) -> Option<usize> {
    let window = &text.as_bytes()[..text.len().min(limit)];
    window.windows(wanted.len()).position(|found| found == wanted.as_bytes())
}
