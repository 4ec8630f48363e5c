//! JSON with comments, trailing commas and a byte-order mark, as in configuration files.

use serde_json::Value;

/// Replaces comments, trailing commas and a byte-order mark with spaces. The result is JSON, and
/// its values keep their byte offsets.
pub fn blank(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    if text.starts_with('\u{feff}') {
        bytes[..3].fill(b' ');
    }
    let (mut at, mut comma) = (0, None);
    while at < bytes.len() {
        let end = match (bytes[at], bytes.get(at + 1)) {
            (b'"', _) => string_end(&bytes, at),
            (b'/', Some(b'/')) => {
                fill(&mut bytes, at, |rest| find(rest, b"\n").unwrap_or(rest.len()))
            }
            // The end is searched after the opening `/*`: the comment `/*/` has no end.
            (b'/', Some(b'*')) => fill(&mut bytes, at, |rest| {
                find(&rest[2..], b"*/").map_or(rest.len(), |end| end + 4)
            }),
            _ => {
                at += 1;
                match bytes[at - 1] {
                    b',' => comma = Some(at - 1),
                    b'}' | b']' => {
                        comma.take().into_iter().for_each(|comma: usize| bytes[comma] = b' ')
                    }
                    byte if !byte.is_ascii_whitespace() => comma = None,
                    _ => {}
                }
                continue;
            }
        };
        if bytes[at] == b'"' {
            comma = None;
        }
        at = end;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// Replaces a comment with spaces, except for its line ends.
fn fill(bytes: &mut [u8], at: usize, length: impl Fn(&[u8]) -> usize) -> usize {
    let end = at + length(&bytes[at..]);
    bytes[at..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    end
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// Parses JSON with comments. A syntax error has its position in the text.
pub fn value(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(&blank(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_comment_ends_behind_its_beginning() {
        for text in
            ["{/*/ x */\"a\": 1}", "{/**/\"a\": 1 /***/}", "{\"a\": /*/*/ 1}", "{\"a\": 1} /*/"]
        {
            assert_eq!(value(text).unwrap(), json!({"a": 1}), "{text}");
            assert_eq!(blank(text).len(), text.len());
        }
    }
}
