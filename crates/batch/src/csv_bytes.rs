//! Detects errors that the CSV parser ignores: bytes that are not text, a quote that is never closed,
//! and text after a closed one.

use std::io::{self, Read};

use crate::format::no_text;

/// Why bytes are not a complete table of text.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CsvError {
    #[error("the quote that opens on line {line} is never closed")]
    OpenQuote { line: usize },
    #[error(
        "text follows the quote on line {end} that closes the one on line {line}; write a quote inside quotes twice"
    )]
    TextAfterQuote { line: usize, end: usize },
    #[error("{0}")]
    NoText(String),
}

impl From<CsvError> for io::Error {
    fn from(error: CsvError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

/// Passes the bytes of a table on and checks them. The end of the table inside quotes is an error,
/// because all rows after the quote would be one value; so is text after closed quotes.
pub(crate) struct CsvBytes<R> {
    from: R,
    delimiter: u8,
    place: Place,
    read: usize,
    line: usize,
    /// The line of the last quote that started a value.
    quote: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    ValueStart,
    Value,
    Quoted,
    /// After a quote inside quotes, which either closes them or is the first half of an escaped
    /// quote.
    QuoteInQuotes,
    /// After spaces that follow closed quotes.
    Closed,
}

impl<R> CsvBytes<R> {
    pub fn new(from: R, delimiter: u8) -> Self {
        Self { from, delimiter, place: Place::ValueStart, read: 0, line: 1, quote: 0 }
    }

    fn pass(&mut self, byte: u8) -> Result<(), CsvError> {
        let is_mark = b"\xef\xbb\xbf".get(self.read) == Some(&byte);
        self.read += 1;
        if is_mark {
            return Ok(());
        }
        self.place = match (self.place, byte) {
            (Place::ValueStart, b'"') => {
                self.quote = self.line;
                Place::Quoted
            }
            (Place::Quoted, b'"') => Place::QuoteInQuotes,
            (Place::Quoted, _) | (Place::QuoteInQuotes, b'"') => Place::Quoted,
            (_, b'\r' | b'\n') => Place::ValueStart,
            (_, byte) if byte == self.delimiter => Place::ValueStart,
            (Place::QuoteInQuotes | Place::Closed, b' ') => Place::Closed,
            // The rows between the two quotes would be one value.
            (Place::QuoteInQuotes | Place::Closed, _) => {
                return Err(CsvError::TextAfterQuote { line: self.quote, end: self.line });
            }
            _ => Place::Value,
        };
        self.line += usize::from(byte == b'\n');
        Ok(())
    }
}

impl<R: Read> Read for CsvBytes<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        let bytes = &buffer[..read];
        if self.read == 0
            && let Some(cure) = no_text(bytes, if self.delimiter == b'\t' { "tsv" } else { "csv" })
        {
            return Err(CsvError::NoText(cure).into());
        }
        bytes.iter().try_for_each(|byte| self.pass(*byte))?;
        if read == 0 && !buffer.is_empty() && self.place == Place::Quoted {
            return Err(CsvError::OpenQuote { line: self.quote }.into());
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<usize, String> {
        // One byte at a time, as from a slow pipe.
        let mut from = CsvBytes::new(text.as_bytes(), b',');
        let mut read = 0;
        loop {
            match from.read(&mut [0]) {
                Ok(0) => return Ok(read),
                Ok(more) => read += more,
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    #[test]
    fn a_quote_that_stays_open_is_told_by_its_line() {
        for (text, line) in [
            ("\"", 1),
            ("\u{feff}\"id", 1),
            ("id,query\n1,\"a\nb\"\n2,\"c\n3,d\n", 4),
            ("id,query\r\n1,\"a \"\"b\"\"\r\n", 2),
            ("id,query\n1,\"a\"\"", 2),
        ] {
            let said = check(text).unwrap_err();
            assert!(said.contains(&format!("on line {line} ")), "{text}: {said}");
        }
        for text in ["", "id,query\n1,\"a\"", "a,b\"\n\"\"\"c\",\"\"\n", "\"a\" ,a \"b\"\n\"c\" \n"]
        {
            assert_eq!(check(text), Ok(text.len()), "{text}");
        }
        let said = check("id,query\n1,\"a\n2,find \"Dana\" now\n3,b\n").unwrap_err();
        assert!(said.contains("line 3 that closes the one on line 2"), "{said}");
    }
}
