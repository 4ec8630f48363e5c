//! Assigns names of programs and statements in a query language: `wh_adhoc`, "select * from orders".

use std::sync::LazyLock;

use regex::Regex;

use super::super::mention::{Content, is_identifier};
use super::super::slot::Kind;
use super::super::text::{Word, is_function_word, is_listed, overlap, regex, stem};
use super::Plan;

/// A statement in SQL, up to the end of the prompt.
static STATEMENT: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?is)\b(?:select\b.+?\bfrom\b|insert\s+into\b|update\b.+?\bset\b.+?=|delete\s+from\b|with\s+\w+\s+as\s*\(|create\s+(?:table|view)\b).*",
    )
});

impl Plan<'_> {
    /// Gives the only parameter for a query in SQL the statement in the prompt. A statement in quotes is a quote.
    pub(super) fn give_statement(&mut self) {
        let Some(slot) = self.only(|slot| slot.kind.is_text() && !slot.is_list && slot.says("sql"))
        else {
            return;
        };
        let Some(found) = STATEMENT.find(self.context.text) else { return };
        let said = found.as_str().trim_end_matches(['.', '?', '!', '`', ' ', '\n']);
        let span = found.start()..found.start() + said.len();
        let mut mentions = self.context.mentions.iter();
        let is_quoted = mentions.any(|mention| {
            let is_quote = matches!(mention.content, Content::Quoted(_) | Content::Rest(_));
            is_quote && mention.span.start < span.start && span.start < mention.span.end
        });
        if !is_quoted && !self.context.denies(span.start) {
            self.offer(slot, &span, true);
        }
    }

    /// Gives the only identifier of the prompt that nothing took to the only required text or id. It is asked whether
    /// it is meant if the word before it says what else it is, and, for a tool that may destroy something, if the words
    /// beside it may: "drop the raw_payments backup".
    pub(super) fn give_identifier(&mut self) {
        let is_name = |kind: Kind| matches!(kind, Kind::Text | Kind::Id | Kind::Place);
        let mut open = self.open_required(|slot| is_name(slot.kind) && !slot.is_list);
        // "The loss of 9bd21" for `run_id` and `metric`.
        if open.iter().filter(|slot| self.slots[**slot].kind == Kind::Id).count() == 1 {
            open.retain(|slot| self.slots[*slot].kind == Kind::Id);
        }
        let [slot] = &open[..] else { return };
        let this = &self.slots[*slot];
        if this.is_person() || this.says("sql expression regex pattern script") {
            return;
        }
        let free: Vec<usize> = (0..self.taken.len()).filter(|at| self.is_free_name(*at)).collect();
        let [at] = free[..] else { return };
        let mention = self.mention(at);
        if self.cue(mention, this).conflicts || self.context.denies(mention.span.start) {
            return;
        }
        let before = self.context.before(mention.span.start);
        let is_known = before.first().is_none_or(|word| {
            is_function_word(&word.lower)
                || self.tool_words.contains(&stem(&word.lower))
                || this.is_about(&word.lower)
                || word.span.start == self.context.words[0].span.start
        });
        // "Drop the raw_payments backup", "older than raw_payments".
        let is_word = |word: &&&Word| {
            is_function_word(&word.lower) || self.tool_words.contains(&stem(&word.lower))
        };
        let after = self.context.after(mention.span.end);
        // "Close card-12" where accounts are shown as `acc-12`.
        let said = self.text_of(&mention.span);
        let is_shown = this.forms.is_empty() || this.forms.iter().any(|form| form.is_match(&said));
        // "Lock ticket-3" for a zone.
        let parts = said.split_once('-').unwrap_or_default();
        let (kind, number) = (parts.0.to_lowercase(), parts.1);
        let is_kind = kind.len() > 3
            && kind.bytes().all(|byte| byte.is_ascii_lowercase())
            && number.bytes().all(|byte| byte.is_ascii_digit());
        let is_own = !is_kind || self.tool_words.contains(&stem(&kind)) || this.is_about(&kind);
        let is_known = is_known && is_shown && is_own && !self.is_before_own_order(&mention.span);
        let is_whole = after.first().is_none_or(|word| is_word(&word));
        let is_other = before.first().is_some_and(|word| match word.lower.as_str() {
            "like" | "than" => true,
            // "The copy of raw.payments", but "the cache node-modules-v3 of web-frontend".
            "of" if self.follows_value(before[0]) => false,
            "of" => before.get(1).is_none_or(|noun| {
                !is_word(&noun) && !self.spent.iter().any(|spent| overlap(spent, &noun.span))
            }),
            _ => false,
        });
        let span = mention.span.clone();
        self.offer(*slot, &span, is_known && (!self.effects.destroys() || is_whole && !is_other));
    }

    /// Whether a word stands right behind a value that was taken: "of" in "version 3 of churn-model".
    fn follows_value(&self, word: &Word) -> bool {
        let mut taken = self.context.mentions.iter().zip(&self.taken).filter(|(_, is)| **is);
        taken.any(|(one, _)| {
            let gap = self.context.text.get(one.span.end..word.span.start);
            gap.is_some_and(|gap| gap.trim().is_empty())
        })
    }

    /// Whether nothing took a mention that is an identifier, or a name with a number.
    fn is_free_name(&self, at: usize) -> bool {
        let mention = self.mention(at);
        // "To 20C" is a temperature.
        let is_measure = is_listed(&self.word_before(mention), "at by to with");
        let is_name = mention.content.token().is_some_and(|said| {
            let is_measure = is_measure && said.starts_with(|c: char| c.is_ascii_digit());
            is_identifier(said) || is_code(said) || is_numbered(said) && !is_measure
        });
        is_name && !self.taken[at] && !self.spent.iter().any(|spent| overlap(spent, &mention.span))
    }
}

/// Whether a word is a code of letters and digits, such as the beginning of a hash: "9bd21", "7fa3c". "500ml" is none.
fn is_code(word: &str) -> bool {
    let kinds = word.bytes().map(|byte| byte.is_ascii_digit()).collect::<Vec<_>>();
    let changes = kinds.windows(2).filter(|pair| pair[0] != pair[1]).count();
    word.len() > 4 && changes > 1 && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Whether a word is a name with a number at its end, or a number with a letter of a row: "mk4-1", "ender1", "P8", "7B".
fn is_numbered(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let lettered = word.strip_suffix(|c: char| matches!(c, 'A'..='F'));
    if lettered.is_some_and(|number| number.len() < 3 && number.parse::<u8>().is_ok()) {
        return true;
    }
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.ends_with(|c: char| c.is_ascii_digit())
        && word.chars().all(is_part)
}
