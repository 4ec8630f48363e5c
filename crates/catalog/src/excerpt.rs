//! Parts of texts for messages and tables.

use std::fmt::Display;

/// Returns the first characters of a text, at most so many.
pub fn first_chars(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

/// Truncates a text to `most` characters, with an ellipsis.
pub fn shortened(text: &str, most: usize) -> String {
    let start = first_chars(text, most);
    if start.len() == text.len() { text.to_owned() } else { format!("{}…", start.trim_end()) }
}

/// The end of a message about an unknown name: the names that are near it, if there are any.
pub fn did_you_mean(near: &[impl Display]) -> String {
    let near: Vec<String> = near.iter().map(ToString::to_string).collect();
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) }
}

/// Joins the first names, at most so many, and the number of the others.
pub fn first_names(names: impl ExactSizeIterator<Item: Display>, most: usize) -> String {
    let more = names.len().saturating_sub(most);
    let first = names.take(most).map(|name| name.to_string()).collect::<Vec<_>>().join(", ");
    if more == 0 { first } else { format!("{first} and {more} more") }
}

/// Returns a text with its white space as single spaces, so that it is on one line.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
