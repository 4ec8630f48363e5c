//! Multipart bodies (RFC 7578) of texts, values as JSON, and files.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

use toolroute_catalog::OperationArgument;

const JSON: &str = "application/json";

/// One part of the body.
struct Part<'a> {
    name: &'a str,
    /// The media type; `None` for plain text.
    kind: Option<&'a str>,
    is_file: bool,
    content: Vec<u8>,
}

/// Returns the content type of the body and its bytes, or `None` if no argument is given. A list
/// becomes one part for each of its elements. The same arguments give the same bytes.
pub(super) fn encode<'a>(
    members: impl Iterator<Item = (&'a OperationArgument, &'a Value)>,
) -> Result<Option<(String, Vec<u8>)>, String> {
    let mut parts = Vec::new();
    for (argument, value) in members {
        match value {
            Value::Array(items) => {
                for item in items {
                    parts.push(part(argument, item)?);
                }
            }
            value => parts.push(part(argument, value)?),
        }
    }
    if parts.is_empty() {
        return Ok(None);
    }
    let boundary = boundary(&parts);
    let mut body = Vec::new();
    for part in &parts {
        body.extend_from_slice(format!("--{boundary}\r\n{}\r\n", part.head()).as_bytes());
        body.extend_from_slice(&part.content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok(Some((format!("multipart/form-data; boundary={boundary}"), body)))
}

fn part<'a>(argument: &'a OperationArgument, value: &Value) -> Result<Part<'a>, String> {
    let name = argument.sent_name();
    if let Some(kind) = &argument.file {
        let decoded = value.as_str().and_then(|text| {
            // Base64 may be split into lines.
            let text: String = text.split_ascii_whitespace().collect();
            STANDARD.decode(text).ok()
        });
        let content = decoded.ok_or_else(|| {
            format!(
                "`{}` is a file; expected its content in base64, found another text",
                argument.name
            )
        })?;
        return Ok(Part { name, kind: Some(kind), is_file: true, content });
    }
    let (kind, content) = match value {
        Value::String(text) => (None, text.clone()),
        Value::Object(_) | Value::Array(_) => (Some(JSON), value.to_string()),
        value => (None, value.to_string()),
    };
    Ok(Part { name, kind, is_file: false, content: content.into_bytes() })
}

impl Part<'_> {
    fn head(&self) -> String {
        let name = quoted(self.name);
        let mut head = format!("Content-Disposition: form-data; name=\"{name}\"");
        if self.is_file {
            // Servers recognise a file by its file name.
            head.push_str(&format!("; filename=\"{name}\""));
        }
        // A catalog is untrusted and must not inject headers.
        let is_plain = |kind: &&str| kind.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if let Some(kind) = self.kind.filter(is_plain) {
            head.push_str(&format!("\r\nContent-Type: {kind}"));
        }
        head + "\r\n"
    }
}

/// Escapes a name as HTML forms do.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

/// Returns a boundary that no part contains, because no text is known to contain its own hash.
fn boundary(parts: &[Part<'_>]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.name.as_bytes());
        hash.update(&part.content);
    }
    let hash = hash.finalize();
    format!("toolroute-{}", toolroute_vectors::durable::hex(&hash[..16]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use toolroute_catalog::Place;

    fn argument(name: &str, file: Option<&str>) -> OperationArgument {
        let file = file.map(str::to_owned);
        OperationArgument { file, ..OperationArgument::new(name, Place::Member) }
    }

    #[test]
    fn texts_values_and_files_are_parts() {
        let given = [
            (argument("title", None), json!("a \"b\" é")),
            (argument("tag\"\r\nX: y", None), json!([1, true])),
            (argument("about", None), json!({"a": [1]})),
            (argument("picture", Some("image/png")), json!("aGVs\nbG8=")),
        ];
        let members = || given.iter().map(|(argument, value)| (argument, value));
        let (kind, body) = encode(members()).unwrap().unwrap();
        let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
        let body = String::from_utf8(body).unwrap();
        let part = |head: &str, content: &str| {
            format!("--{boundary}\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n")
        };
        let expected = [
            part("name=\"title\"", "a \"b\" é"),
            part("name=\"tag%22%0D%0AX: y\"", "1"),
            part("name=\"tag%22%0D%0AX: y\"", "true"),
            part("name=\"about\"\r\nContent-Type: application/json", "{\"a\":[1]}"),
            part("name=\"picture\"; filename=\"picture\"\r\nContent-Type: image/png", "hello"),
        ];
        assert_eq!(body, format!("{}--{boundary}--\r\n", expected.concat()));
        assert_eq!(encode(members()).unwrap().unwrap().0, kind, "the same each time");
        assert_eq!(encode(std::iter::empty()), Ok(None));
    }

    #[test]
    fn a_file_must_be_base64_and_its_type_one_line() {
        let file = argument("picture", Some("image/png\r\nX: y"));
        for bad in [json!("/tmp/cat.png"), json!(7)] {
            assert!(encode([(&file, &bad)].into_iter()).unwrap_err().contains("base64"));
        }
        let (_, body) = encode([(&file, &json!(""))].into_iter()).unwrap().unwrap();
        assert!(!String::from_utf8(body).unwrap().contains("X: y"));
    }
}
