//! "Create a policy", "I want to cancel it": what a prompt says shall be done.

use super::requests::is_verb;

/// Words behind which a verb is an order.
const BEFORE: [&str; 9] = ["to", "and", "then", "please", "now", "just", "you", "also", "or"];

/// Words that turn the order behind a "to" round.
const AGAINST: [&str; 3] = ["not", "never", "without"];

/// The verbs by which a prompt says what shall be done, in lower case, as they come: those that begin a
/// sentence or a part of it, or stand behind "to", "please" and the like. English only.
///
/// ```
/// use toolroute_rank::query::ordered;
///
/// assert_eq!(ordered("Create a policy, and I want to cancel the update"), ["create", "cancel"]);
/// assert!(ordered("not to delete: how many updates are there?").is_empty());
/// ```
pub fn ordered(prompt: &str) -> Vec<String> {
    let (mut before, mut one_more) = (String::new(), String::new());
    let (mut begins, mut found) = (true, Vec::new());
    for token in prompt.split_whitespace() {
        let word = token.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let is_order = begins || BEFORE.contains(&before.as_str());
        let is_against = before == "to" && AGAINST.contains(&one_more.as_str());
        if is_order && !is_against && is_verb(&word) {
            found.push(word.clone());
        }
        begins = token.ends_with(['.', ':', '!', '?', ',', ';']);
        one_more = std::mem::replace(&mut before, word);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_orders_by_their_place() {
        for (prompt, expected) in [
            ("Create a VM", vec!["create"]),
            ("please update it", vec!["update"]),
            ("ask it to retrieve what it knows", vec!["ask", "retrieve"]),
            ("Hi! Delete the file; then stop.", vec!["delete", "stop"]),
            ("the create button and the update", vec![]),
            ("I prefer not to delete it", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(ordered(prompt), expected, "{prompt}");
        }
    }
}
