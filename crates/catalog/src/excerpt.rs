//! Parts of texts for messages and tables.

/// Returns the first characters of a text, at most so many.
pub fn first_chars(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

/// Truncates a text to `most` characters, with an ellipsis.
pub fn shortened(text: &str, most: usize) -> String {
    let start = first_chars(text, most);
    if start.len() == text.len() { text.to_owned() } else { format!("{}…", start.trim_end()) }
}

/// Returns a text with its white space as single spaces, so that it is on one line.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
