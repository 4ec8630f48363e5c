//! Finds the server that a prompt names, where the nearest tool is another's: "delete the Slack message 18f2ab" for the
//! tool of a mail server.

use std::collections::BTreeSet;

use toolroute_catalog::{Tool, embedding_text, words_of};

use super::fit::FitReason;

/// The most words of a server's name.
const MOST_WORDS: usize = 3;

/// Returns the reason against the nearest tool if the prompt names another server, and no text of the tool does.
///
/// A name counts only with a capital, and not as the first word of a sentence: "memory", "time" and "slack" are words of
/// prose, too.
pub(super) fn other_server(
    prompt: &str,
    first: &Tool,
    servers: &BTreeSet<Vec<String>>,
) -> Option<FitReason> {
    let own = first.server.as_deref()?;
    // What is quoted, or stands behind a colon, is content: "create a note: renew the GitHub token".
    let head = prompt.find(": ").map_or(prompt, |colon| &prompt[..colon]);
    let head: String = head.split('"').step_by(2).collect();
    let words: Vec<&str> = head.split_whitespace().collect();
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let is_named = |at: usize| {
        let begins = at == 0 || words[at - 1].ends_with(['.', '!', '?', ':', '"']);
        // "Send a message to Ray", "move it to Monday".
        let is_person = !begins && ["to", "for", "with", "on"].contains(&words[at - 1]);
        !begins && !is_person && bare(words[at]).starts_with(char::is_uppercase)
    };
    let known = words_of(&format!("{own} {}", embedding_text(first)));
    let others = (1..words.len()).filter(|at| is_named(*at)).find_map(|at| {
        let names = (1..=MOST_WORDS).filter_map(|count| words.get(at..at + count));
        let mut names = names.map(|said| said.iter().map(|word| bare(word)).collect::<Vec<_>>());
        names.find(|said| {
            let lower: Vec<String> = said.iter().map(|word| word.to_lowercase()).collect();
            servers.contains(&lower) && !lower.iter().all(|word| known.contains(word))
        })
    });
    let named = others?.join(" ");
    Some(FitReason::OtherServer { named, nearest: own.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_of_another_server_than_the_one_that_is_named_is_doubted() {
        let servers = ["slack", "mail", "google-drive", "memory"].map(words_of).into();
        let tool = Tool::new(Some("mail"), "delete_message", "Deletes a mail, and tells Drive");
        for (prompt, named) in [
            ("delete Slack message 18f2ab", Some("Slack")),
            ("delete it from Google Drive, please", Some("Google Drive")),
            ("take the slack out of it", None),
            ("Slack is down, delete message 7", None),
            ("delete the mail of Mail", None),
            ("delete it from memory", None),
            ("create a note \"delete Slack message 7\"", None),
            ("create a note: delete the Slack message", None),
            ("send a message to Slack", None),
        ] {
            let found = other_server(prompt, &tool, &servers).map(|reason| reason.to_string());
            let expected = named.map(|named| {
                format!("the prompt names {named}, and the nearest tool is of `mail`")
            });
            assert_eq!(found, expected, "{prompt}");
        }
    }
}
