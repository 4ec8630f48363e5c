//! Reads a file as text, up to a maximum size, in the encodings that editors and shells write.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::Error;

/// The maximum size of a file: ten times the largest of the collected sets, which has 23 MB. A
/// larger file is not a catalog, and a device such as `/dev/zero` has no end.
const MAX_BYTES: u64 = 256 << 20;

#[derive(Debug)]
pub(super) struct TextFile {
    pub text: String,
    /// The numbers of the lines that contain bytes that are not text, counted from 1 and ascending.
    pub invalid_lines: Vec<usize>,
}

pub(super) fn read(path: &Path) -> Result<TextFile, Error> {
    read_at_most(path, MAX_BYTES)
}

fn read_at_most(path: &Path, limit: u64) -> Result<TextFile, Error> {
    let failed = |source| Error::Unreadable { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    // A list that grows takes up to twice the size of the file. A device has no size.
    let size = file.metadata().map_or(0, |metadata| metadata.len().min(limit));
    let mut bytes = Vec::with_capacity(size as usize + 1);
    file.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit {
        return Err(Error::TooLarge { path: path.to_owned(), limit });
    }
    Ok(decode(bytes))
}

/// Decodes UTF-8, or UTF-16 if there is a byte-order mark, as in the files that PowerShell's `>`
/// writes.
fn decode(bytes: Vec<u8>) -> TextFile {
    match bytes.as_slice() {
        [0xff, 0xfe, units @ ..] => utf16(units, u16::from_le_bytes),
        [0xfe, 0xff, units @ ..] => utf16(units, u16::from_be_bytes),
        _ => utf8(bytes),
    }
}

fn utf8(bytes: Vec<u8>) -> TextFile {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return TextFile { text, invalid_lines: Vec::new() },
        Err(error) => error.into_bytes(),
    };
    let characters = bytes.utf8_chunks().flat_map(|chunk| {
        let invalid = (!chunk.invalid().is_empty()).then_some(None);
        chunk.valid().chars().map(Some).chain(invalid)
    });
    of_characters(bytes.len(), characters)
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> TextFile {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let characters = char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).map(Result::ok);
    of_characters(bytes.len(), characters.chain((!rest.is_empty()).then_some(None)))
}

/// Collects characters, which are `None` for bytes that are not text.
fn of_characters(bytes: usize, characters: impl Iterator<Item = Option<char>>) -> TextFile {
    let mut file = TextFile { text: String::with_capacity(bytes), invalid_lines: Vec::new() };
    let mut line = 1;
    for character in characters {
        file.text.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
        line += usize::from(character == Some('\n'));
        if character.is_none() && file.invalid_lines.last() != Some(&line) {
            file.invalid_lines.push(line);
        }
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> (String, Vec<usize>) {
        let TextFile { text, invalid_lines } = decode(bytes.to_vec());
        (text, invalid_lines)
    }

    #[test]
    fn utf16_is_told_by_its_mark() {
        let little: Vec<u8> = "\u{feff}aé\n🙂".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = "\u{feff}aé\n🙂".encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [little, big] {
            assert_eq!(decoded(&bytes), ("aé\n🙂".to_owned(), vec![]));
        }
        assert_eq!(decoded(b"\xff\xfea\0\n\0\0\xd8b").1, [2]);
    }

    #[test]
    fn bytes_that_are_no_text_spoil_their_line_only() {
        let text = "caf\u{fffd}\nok\n\u{fffd}a\u{fffd}".to_owned();
        assert_eq!(decoded(b"caf\xe9\nok\n\xffa\xe2\x82"), (text, vec![1, 3]));
    }

    #[test]
    fn a_file_beyond_the_limit_is_refused_before_it_is_read_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_at_most(&path, 5).unwrap().text, "12345");
        let error = read_at_most(&path, 4).unwrap_err();
        assert!(matches!(error, Error::TooLarge { limit: 4, .. }), "{error}");
        let error = Error::TooLarge { path, limit: MAX_BYTES };
        assert!(error.to_string().contains("at most 256 MiB"), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn a_device_without_an_end_is_refused() {
        let error = read_at_most(Path::new("/dev/zero"), 1 << 16).unwrap_err();
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    }
}
