//! Recognises the format of a file in which no row of prompts could be read, and names a way to
//! convert it.

use serde::de::IgnoredAny;

/// Returns the likely format of a file that begins with these bytes, and how to convert it to JSON
/// lines.
pub fn cure(bytes: &[u8]) -> &'static str {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    match bytes {
        [0x1f, 0x8b, ..] => "it is compressed by gzip: unpack it with `gunzip`",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "it is compressed by zstd: unpack it with `unzstd`",
        [b'P', b'K', 3, 4, ..] => "it is a ZIP archive: unpack it with `unzip`",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            "it is UTF-16: write it as UTF-8, with `iconv -f UTF-16 -t UTF-8`"
        }
        _ if text.starts_with(b"[") => {
            "it is one JSON list: write a line for each element, with `jq -c '.[]'`"
        }
        _ if first == b"{" => {
            "its objects go over several lines: write each on one, with `jq -c .`"
        }
        // An end within a character is that of the bytes, not of the line.
        _ if std::str::from_utf8(first).is_err_and(|error| error.error_len().is_some()) => {
            "write it as UTF-8, with `iconv -f ENCODING -t UTF-8`"
        }
        _ if first.starts_with(b"{") => "its rows have other members: name the prompt \"query\"",
        _ if first.contains(&b',') || first.contains(&b'\t') || first.contains(&b';') => {
            "it looks like a table (CSV): write a JSON object for each row"
        }
        _ => "write each prompt as a JSON object on a line of its own",
    }
}

/// Whether a row is the beginning of a JSON list that goes over several lines, whose elements must
/// not be taken for rows.
pub fn begins_list(row: &[u8]) -> bool {
    row.starts_with(b"[") && serde_json::from_slice::<IgnoredAny>(row).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_over_several_lines_is_told_from_a_row() {
        for (row, expected) in
            [("[", true), ("[{\"a\": 1},", true), ("[1, 2]", false), ("{", false)]
        {
            assert_eq!(begins_list(row.as_bytes()), expected, "{row}");
        }
    }

    #[test]
    fn what_a_file_looks_like_is_told() {
        for (bytes, said) in [
            (&b"\x1f\x8b\x08\x00"[..], "gunzip"),
            (b"[\n{\"query\": \"x\"}\n]", "jq -c '.[]'"),
            (b"\xef\xbb\xbf  [1]", "jq -c '.[]'"),
            (b"{\n  \"query\": \"x\"\n}\n", "jq -c ."),
            (b"{\"text\": \"x\"}\n", "\"query\""),
            (b"id,query\n1,the weather\n", "CSV"),
            (b"\xff\xfei\x00d\x00", "UTF-16"),
            (b"the weather\n", "JSON object on a line"),
            (b"{\"query\": \"caf\xe9\"}\n", "-t UTF-8"),
            (b"", "JSON object on a line"),
        ] {
            assert!(cure(bytes).contains(said), "{}: {said}", String::from_utf8_lossy(bytes));
        }
    }
}
