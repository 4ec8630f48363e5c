//! What a prompt asks for, thing by thing.

use super::Engine;
use crate::query;

impl Engine {
    /// What a prompt asks for, thing by thing; one where it asks for one, or where
    /// [`super::EngineConfig::clauses`] is off.
    pub fn needs(&self, prompt: &str) -> Vec<String> {
        match self.config().clauses {
            true => whole_quotes(prompt, query::all_clauses(prompt)),
            false => vec![prompt.to_owned()],
        }
    }
}

/// Clauses that no quotation runs through: what stands in quotes is said, not asked for.
fn whole_quotes(prompt: &str, clauses: Vec<String>) -> Vec<String> {
    let is_open = |text: &str| {
        let count = |quote: char| text.matches(quote).count();
        count('"') % 2 == 1 || count('“') > count('”') || count('«') > count('»')
    };
    let mut whole: Vec<String> = Vec::new();
    for clause in clauses {
        match whole.last_mut().filter(|last| is_open(last)) {
            Some(last) => match spanned(prompt, last, &clause) {
                Some(all) => *last = all.to_owned(),
                None => *last = format!("{last} {clause}"),
            },
            None => whole.push(clause),
        }
    }
    whole
}

/// The prompt from one clause to the end of another, where both stand in it word for word.
fn spanned<'a>(prompt: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let start = prompt.find(from)?;
    let behind = start + from.len();
    let end = behind + prompt[behind..].find(to)? + to.len();
    Some(&prompt[start..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotation_stays_whole_and_nothing_is_said_twice() {
        let whole = |prompt: &str| whole_quotes(prompt, query::all_clauses(prompt));
        let prompt = "Send Dana a mail that says \"drink tea and get the weather forecast\"";
        assert_eq!(whole(prompt), [prompt]);
        let prompt = "Create an issue for the crash. Email Dana saying \"Hello.\nRead the report and close the issue\"";
        let needs = whole(prompt);
        assert!(!needs[1].contains("Create"), "{needs:?}");
        assert_eq!(needs.len(), 2, "{needs:?}");
    }
}
