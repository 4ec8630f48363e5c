//! What a call of a tool may do, decided once from everything that is known about the tool.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::LazyLock;

use serde::Serialize;

use crate::text::{first_sentence, is_listed, split_identifier, words_of};
use crate::tool::Tool;

/// What a call may do, and how that is known.
///
/// Permissions, retries, fallbacks, the conductor and the stages of the selection all use this
/// value, so that "only reads" means the same everywhere.
///
/// ```
/// # use toolroute_catalog::{EffectKind, EffectSource, Tool};
/// let mut tool = Tool::new(Some("git"), "get_status", "");
/// assert_eq!(tool.effects().kind, EffectKind::ReadsOnly);
/// assert_eq!(tool.effects().from, EffectSource::Text);
/// tool.hints.read_only = Some(false);
/// assert_eq!(tool.effects().kind, EffectKind::Writes);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Effects {
    /// What a call may do.
    pub kind: EffectKind,
    /// Whether a second call with the same arguments changes nothing more. Such a call may be sent
    /// again if it is unknown whether it arrived. Only a declaration sets this, never a name:
    /// `get_next_ticket` takes a ticket each time.
    pub idempotent: bool,
    /// Where that is known from.
    pub from: EffectSource,
}

/// The worst effect that a call may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EffectKind {
    /// It changes nothing.
    ReadsOnly,
    /// It changes something but, as far as is known, destroys nothing.
    Writes,
    /// It may destroy something, or do what no other call takes back: cancel, ban, pay.
    Destructive,
    Unknown,
}

/// The source of the knowledge about the effects, the most certain first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EffectSource {
    /// The user's overlay declares them.
    Overlay,
    /// The tool's author declares them, in MCP's annotations or in a catalog's row.
    Hint,
    /// The method of the tool's HTTP operation implies them (RFC 9110, section 9.2).
    Type,
    /// A verb in the tool's name, or the one with which its description begins, suggests them.
    Text,
    Nothing,
}

/// Verbs of tools that destroy something.
static DESTROYS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "delete remove drop destroy purge erase wipe truncate uninstall revoke kill overwrite"
        .split(' ')
        .collect()
});

/// Verbs of tools that take something away for good, or move money. Behind other words of a name they
/// may be nouns or participles (`list_refunds`, `search_cancelled`).
static TAKES_AWAY: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "ban blacklist cancel clear deactivate decommission deprovision destruct discard dismiss evict \
     exec expel flush kick pay poweroff rollback scrap shell shred shutdown terminate unpublish \
     void"
        .split(' ')
        .collect()
});

/// Verbs that take something away only with one of these objects: `format_disk`, not `format_date`.
const TAKES_AWAY_OBJECT: [(&str, &str); 16] = [
    ("buy", "crypto share shares stock stocks"),
    ("close", "account accounts"),
    ("empty", "bin folder inbox mailbox recycle trash"),
    ("execute", "command commands script shell sql"),
    ("fire", "employee staff worker person colleague"),
    ("format", "disk disks drive drives partition volume volumes device storage"),
    ("force", "push"),
    ("issue", "refund refunds"),
    ("move", "money funds"),
    ("reset", "branch data database db device factory mfa password repository server system"),
    ("run", "command commands shell sql"),
    ("shut", "down"),
    (
        "refund",
        "all amount booking charge customer invoice invoices item items order orders payment payments \
                purchase sale the ticket transaction",
    ),
    ("send", "money funds payment payments"),
    ("transfer", "money funds balance credits"),
    ("wire", "money funds transfer transfers payment payments"),
];

/// Verbs of tools that change something.
static WRITES: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "add append apply approve archive assign book cancel close commit copy create deploy \
     disable edit enable execute insert install invite merge modify move patch pay post \
     publish push put rename replace reset restart run save schedule send set start stop \
     submit sync turn update upload write"
        .split(' ')
        .collect()
});

/// Verbs of tools that change something, but nouns as often (`order_status`): only with an object
/// behind them at the beginning of a description.
static WRITES_WITH_OBJECT: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "adjust allocate anonymize ban block bring call change charge clean confirm correct credit debit \
     decrease deduct deposit enrol enroll exchange extend fire grant import increase issue lock log \
     lower mark mint note notify order place process raise record redeem reduce refund register \
     reject release reopen request reschedule reserve restore reverse share sign suspend swap \
     switch take tell terminate toggle transfer trigger undo unlock void withdraw"
        .split(' ')
        .collect()
});

/// Verbs of tools that only read.
static READS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "analyze browse calculate check compare compute count describe fetch find get grep inspect list \
     lookup query read reason research retrieve search show summarize validate view"
        .split(' ')
        .collect()
});

/// Verbs of tools that only read, but nouns as often (`estimate`): only with an object behind them at
/// the beginning of a description.
static READS_WITH_OBJECT: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "analyse assess determine estimate examine gather identify locate predict translate"
        .split(' ')
        .collect()
});

/// What a tool converts without changing anything: "Converts an amount", not "Converts a file".
const CONVERTED: &str = "amount amounts color colors currencies currency date dates distance distances length lengths \
     number numbers temperature temperatures time times timestamp timestamps timezone timezones unit units value \
     values volume volumes weight weights";

/// Phrases of descriptions of tools whose effect lasts.
const LASTING: [&str; 7] = [
    "cannot be undone",
    "can't be undone",
    "can not be undone",
    "completely overwrite",
    "initial state",
    "irreversibl",
    "will be lost",
];

/// What is only about something: a reminder of a payment.
const MESSAGES: &str = "confirmation email instruction link message notification receipt reminder";

/// Words with which the object of a verb begins.
const DETERMINERS: [&str; 16] = [
    "a", "all", "an", "another", "any", "each", "every", "his", "it", "its", "one", "some", "the",
    "their", "them", "this",
];

/// Words behind a noun: "Estimate for a customer".
const PREPOSITIONS: [&str; 8] = ["and", "by", "for", "from", "in", "of", "or", "to"];

/// Words after `check` that make it a change: `check_in_guest`.
const PARTICLES: [&str; 4] = ["in", "into", "out", "off"];

impl Effects {
    /// Returns `true` if a call changes nothing, even if only the tool's name or description suggests
    /// it.
    pub fn reads_only(self) -> bool {
        self.kind == EffectKind::ReadsOnly
    }

    /// Returns `true` if a call changes nothing, according to a declaration and not only to the
    /// tool's name or description.
    pub fn declares_reads_only(self) -> bool {
        self.reads_only() && self.from != EffectSource::Text
    }

    /// Returns `true` if a call may destroy something.
    pub fn destroys(self) -> bool {
        self.kind == EffectKind::Destructive
    }
}

impl EffectKind {
    /// Returns its name in tables and sentences.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadsOnly => "reads only",
            Self::Writes => "writes",
            Self::Destructive => "may destroy",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for EffectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Tool {
    /// Returns what a call of the tool may do.
    ///
    /// A declaration takes precedence over the name and the description. If two declarations
    /// contradict each other, the worse one counts: a tool that declares both that it only reads and
    /// that it destroys may destroy.
    pub fn effects(&self) -> Effects {
        let hints = self.hints;
        let declared = match () {
            () if hints.from_overlay => EffectSource::Overlay,
            () if self.operation.is_some() => EffectSource::Type,
            () => EffectSource::Hint,
        };
        // Read only where no declaration decides: a filter asks for the effects of every tool.
        let by_text = || kind_of_texts(&self.name, &self.description);
        let (kind, from) = match (hints.read_only, hints.destructive) {
            (_, Some(true)) => (EffectKind::Destructive, declared),
            (Some(true), _) => (EffectKind::ReadsOnly, declared),
            (_, Some(false)) => (EffectKind::Writes, declared),
            (Some(false), None) => match by_text() {
                EffectKind::Destructive => (EffectKind::Destructive, EffectSource::Text),
                _ => (EffectKind::Writes, declared),
            },
            (None, None) => match (by_text(), hints.idempotent) {
                (EffectKind::Unknown, Some(true)) => (EffectKind::Unknown, declared),
                (EffectKind::Unknown, _) => (EffectKind::Unknown, EffectSource::Nothing),
                (kind, _) => (kind, EffectSource::Text),
            },
        };
        let said = Effects { kind, idempotent: hints.idempotent == Some(true), from };
        Effects { idempotent: said.idempotent || said.declares_reads_only(), ..said }
    }
}

/// Returns `true` if a word of a name is a verb that only reads.
pub fn is_reading_verb(word: &str) -> bool {
    READS.contains(word)
}

/// Returns `true` if a lower-case word is a verb of tools that change or destroy something.
pub fn writes(word: &str) -> bool {
    [&*DESTROYS, &*WRITES, &*WRITES_WITH_OBJECT].into_iter().any(|verbs| verbs.contains(word))
}

/// Derives the effects from the verbs of a name and from those of the description's first sentence.
///
/// A verb that writes counts in either. A verb that reads counts at the beginning of the name; behind
/// other words it may be a noun (`change_guest_count`), so that the description must begin with a
/// reading verb unless the name ends in one that is hardly a noun.
fn kind_of_texts(name: &str, description: &str) -> EffectKind {
    let name = split_identifier(name).to_lowercase();
    let words: Vec<&str> = name.split_whitespace().collect();
    let sentence = first_sentence(description).to_lowercase();
    let about = description.to_lowercase();
    let is_lasting =
        LASTING.iter().any(|phrase| about.contains(phrase)) || sentence.starts_with("permanently ");
    if is_lasting && !begins_reading(&words) {
        return EffectKind::Destructive;
    }
    if adds_numbers(&sentence) || begins_reading(&words) && selects(&sentence, &about) {
        return EffectKind::ReadsOnly;
    }
    let of_sentence = kind_of_sentence(&sentence, &words);
    // `ban_list`, "Lists the bans", takes nothing away.
    if of_sentence != EffectKind::ReadsOnly && begins_taking_away(&words) {
        return EffectKind::Destructive;
    }
    match (kind_of_name(&words), of_sentence) {
        (EffectKind::Destructive, _) | (_, EffectKind::Destructive) => EffectKind::Destructive,
        (EffectKind::Writes, _) | (_, EffectKind::Writes) => EffectKind::Writes,
        (_, EffectKind::ReadsOnly) => EffectKind::ReadsOnly,
        (EffectKind::ReadsOnly, _) if begins_reading(&words) || ends_reading(&words) => {
            EffectKind::ReadsOnly
        }
        _ => EffectKind::Unknown,
    }
}

/// Whether a name begins with a reading verb.
fn begins_reading(words: &[&str]) -> bool {
    words.first().is_some_and(|word| READS.contains(word))
}

/// Whether a name ends in a reading verb behind words of which none is a verb: `members_search`.
fn ends_reading(words: &[&str]) -> bool {
    let reads =
        |word: &&str| matches!(*word, "fetch" | "find" | "get" | "lookup" | "query" | "search");
    words.last().is_some_and(reads) && !words.iter().any(|word| WRITES_WITH_OBJECT.contains(word))
}

/// The first verb of a name decides: in `get_run` the second word is a noun. A verb after `and` or
/// `or` counts too, because `find_and_replace` replaces, and a verb that destroys counts at any
/// position.
fn kind_of_name(words: &[&str]) -> EffectKind {
    let is_joined = |at: usize| at > 0 && matches!(words[at - 1], "and" | "or");
    let mut kind = EffectKind::Unknown;
    for (at, word) in words.iter().enumerate() {
        if DESTROYS.contains(word) {
            return EffectKind::Destructive;
        }
        let first = kind == EffectKind::Unknown;
        let writes = WRITES.contains(word) || is_phrasal(words, at);
        if writes && (first || is_joined(at) || *word == "execute") {
            kind = EffectKind::Writes;
        } else if READS.contains(word) && first {
            kind = EffectKind::ReadsOnly;
        }
    }
    kind
}

/// Whether the first verb of a name takes something away for good: `subscription_cancel`.
fn begins_taking_away(name: &[&str]) -> bool {
    let is_verb = |word: &str| [&*READS, &*WRITES].iter().any(|verbs| verbs.contains(word));
    let mut verbs = name.iter().enumerate().map(|(at, word)| (*word, &name[at + 1..]));
    verbs
        .find(|(word, rest)| takes_away(word, rest) || is_verb(word))
        .is_some_and(|(word, rest)| takes_away(word, rest))
}

/// Whether a verb with the words behind it takes something away for good, or moves money.
fn takes_away(verb: &str, rest: &[&str]) -> bool {
    let mut objects = TAKES_AWAY_OBJECT.into_iter().filter(|(with, _)| *with == verb);
    let mut is_object = |next: &str| objects.any(|(_, objects)| is_listed(objects, next));
    // `send_payment_reminder` sends no payment.
    let is_message =
        rest.iter().take(2).any(|word| is_listed(MESSAGES, word.strip_suffix('s').unwrap_or(word)));
    TAKES_AWAY.contains(verb) || rest.first().is_some_and(|next| is_object(next)) && !is_message
}

/// The same for a sentence, whose verb may be in the third person: "Closes an account", "Moves money".
fn is_taking_away(sentence: &[&str]) -> bool {
    let determiners = sentence[1..].iter().take_while(|word| DETERMINERS.contains(word)).count();
    let rest = &sentence[1 + determiners..];
    bases(sentence[0]).any(|verb| takes_away(&verb, rest))
}

/// The effects of the verb with which a sentence begins, "Lists the orders", and of those that are
/// joined to it, "and closes them".
fn kind_of_sentence(sentence: &str, name: &[&str]) -> EffectKind {
    let words: Vec<&str> = sentence.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    // "This function retrieves".
    let has_subject = words.len() > 2
        && words[0] == "this"
        && matches!(words[1], "api" | "endpoint" | "function" | "method" | "operation" | "tool");
    let words = if has_subject { &words[2..] } else { &words[..] };
    let is_third_person = words[0].ends_with('s');
    let mut kind = EffectKind::Unknown;
    for (at, word) in words.iter().enumerate() {
        let is_first = at == 0;
        if !is_first && !matches!(words[at - 1], "and" | "or" | "then") {
            continue;
        }
        let next = words.get(at + 1).copied().unwrap_or_default();
        let has_object = DETERMINERS.contains(&next);
        let has_more = !next.is_empty() && !PREPOSITIONS.contains(&next);
        let is_plain = match is_first {
            // "Set of rules" has no verb.
            true => !begins_reading(name) && next != "of",
            // "Finds files and deletes old ones"; in "Get start and stop times" they are nouns, and so at the end:
            // "Shows differences between branches or commits".
            false => is_third_person && word.ends_with('s') && has_more,
        };
        let is_plain = is_plain || has_object;
        kind = match () {
            () if (is_plain || !is_first) && is_verb(word, &DESTROYS) => {
                return EffectKind::Destructive;
            }
            () if is_first && is_plain && is_taking_away(words) => {
                return EffectKind::Destructive;
            }
            () if is_plain && is_verb(word, &WRITES) => EffectKind::Writes,
            () if (has_object || is_plain && !is_first) && is_verb(word, &WRITES_WITH_OBJECT) => {
                EffectKind::Writes
            }
            () if is_phrasal(words, at) => EffectKind::Writes,
            () if !is_first
                && has_more
                && is_verb(word, &WRITES)
                && kind == EffectKind::ReadsOnly =>
            {
                EffectKind::Unknown
            }
            () if is_first
                && (is_verb(word, &READS) || gives_back(words, name) || converts(words)) =>
            {
                EffectKind::ReadsOnly
            }
            () if is_first
                && is_verb(word, &READS_WITH_OBJECT)
                && !PREPOSITIONS.contains(&next) =>
            {
                EffectKind::ReadsOnly
            }
            () => kind,
        };
    }
    kind
}

/// Whether a sentence begins with "Returns" as of a result: "Returns a car to the station" and a tool
/// `return_item` change something.
fn gives_back(words: &[&str], name: &[&str]) -> bool {
    matches!(words[0], "return" | "returns") && !words.contains(&"to") && !name.contains(&"return")
}

/// Whether a sentence begins with "convert" and what is only computed, and nobody's money.
fn converts(sentence: &[&str]) -> bool {
    let [verb, rest @ ..] = sentence else { return false };
    let object = rest.iter().find(|word| **word != "between" && !DETERMINERS.contains(word));
    matches!(*verb, "convert" | "converts")
        && object.is_some_and(|object| is_listed(CONVERTED, object))
        && !rest.iter().any(|word| is_listed("account accounts balance wallet your", word))
}

/// Whether a description says no more than that a query selects: "Execute a SELECT query on the database".
fn selects(sentence: &str, description: &str) -> bool {
    const OTHERWISE: &str =
        "alter and create delete drop insert into merge non or replace truncate update";
    let own = words_of(sentence);
    let [verb, rest @ ..] = &own[..] else { return false };
    let mut rest = rest.iter().skip_while(|word| is_listed("a an one only read", word));
    is_listed("execute executes perform performs run runs", verb)
        && rest.next().is_some_and(|word| word == "select")
        && rest.next().is_some_and(|word| is_listed("queries query sql statement statements", word))
        && !words_of(description).iter().any(|word| is_listed(OTHERWISE, word))
}

/// Whether a sentence says no more than that numbers are added, subtracted, multiplied or divided: "Add two numbers", not
/// "Add numbers to the block list".
fn adds_numbers(sentence: &str) -> bool {
    let words = sentence.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.filter(|word| !is_listed("the two three", word)).collect();
    let [first, object, rest @ ..] = &words[..] else { return false };
    let is_arithmetic =
        bases(first).any(|verb| matches!(&*verb, "add" | "subtract" | "multiply" | "divide"));
    let is_whole = match rest {
        [] | ["together"] => true,
        rest => {
            is_listed("and together", rest[0]) && rest.iter().any(|word| word.starts_with("return"))
        }
    };
    is_arithmetic && is_listed("integers numbers", object) && is_whole
}

/// Whether a word is one of the verbs, as an order or in the third person.
fn is_verb(word: &str, verbs: &HashSet<&str>) -> bool {
    bases(word).any(|verb| verbs.contains(&*verb))
}

/// The verbs of which a word may be the order or the third person.
fn bases(word: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let regular = ["", "s", "es"].into_iter().filter_map(|ending| word.strip_suffix(ending));
    let with_y = word.strip_suffix("ies").map(|stem| Cow::Owned(format!("{stem}y")));
    regular.map(Cow::Borrowed).chain(with_y)
}

/// Whether a word is `check` with a particle: "check in a guest", "checks a guest out".
fn is_phrasal(words: &[&str], at: usize) -> bool {
    let rest = &words[at + 1..];
    let is_particle = |word: Option<&&str>| word.is_some_and(|word| PARTICLES.contains(word));
    matches!(words[at], "check" | "checks")
        && (is_particle(rest.first())
            || is_particle(rest.iter().rfind(|word| !word.is_empty()))
            || rest.iter().take(4).any(|word| *word == "out"))
}

#[cfg(test)]
mod tests;
