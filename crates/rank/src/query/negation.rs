//! Removes what a prompt says not to do: "don't delete it, archive it". Vectors and keywords both
//! ignore "not", so the verb would rank exactly the wrong tools higher.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Match, Regex};

use super::requests::{content_words, is_content, is_verb};
use super::verbs::may_order;
use super::{is_listed, pattern};
use toolroute_catalog::one_line;
use toolroute_translation::Language;

/// A "don't", or another ban, with its surroundings: a subject ("they don't update it" is not an
/// order), "want you to", and one or two verbs or names.
static NEGATED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)(?P<who>\b(?:i|we|you|they|he|she|it|who|that|which)\s+)?",
        r"\b(?:do not|don['’]?t|(?P<third>does not|doesn['’]?t)|never|(?P<ban>",
        r"(?:must|should|shall|may|ought|need)(?:\s+not|n['’]?t)(?:\s+to)?(?:\s+ever)?(?:\s+be)?|",
        r"(?P<nobody>nobody|no[ -]?one)\s+(?:(?:should|must|shall|may|can)(?:\s+ever)?(?:\s+be)?|(?:ought|is|has)\s+to)|",
        r"(?:(?:make|be)\s+sure|ensure)\s+(?:that\s+)?(?:nobody|no[ -]?one)|",
        r"(?:avoid|without|instead\s+of|rather\s+than|refrain\s+from|hold\s+off(?:\s+on)?|no\s+(?:need|reason)\s+(?:to|for))|",
        r"(?:rather|better|prefer)\s+not(?:\s+to)?|",
        r"under\s+no\s+circumstances?(?:\s+(?:should|must|may)\s+(?:you|we|i|anyone|anybody))?",
        r"))\s+(?P<wish>(?:want|wish|need)\s+(?:you\s+)?to\s+)?",
        r"(?P<first>`?[a-z][a-z0-9_]*`?)(?:\s+or\s+(?P<second>[a-z]+)\b)?(?P<name>\s+`?[a-z0-9-]*_[a-z0-9_-]+`?)?",
        r"(?P<particle>(?:\s+(?:it|them|him|her|this|that))?\s+(?:on|off|up|down|out|away|back|over)\b)?",
    ))
});

/// Words after "don't" that forbid nothing which a tool does: idioms, states of mind, and subjects of a question.
const NOT_ORDERS: &str = "let look worry mind know have be think care need want like see understand believe seem get \
    forget bother hesitate panic i we you they he she it the a an to";

/// Words of which a negation has at least one.
const HINTS: &str = "not never without instead rather don dont doesn doesnt mustn mustnt shouldn shouldnt shan mayn oughtn needn neednt \
    nobody noone no avoid refrain hold";

/// A refusal after the order: "stop the mixer? Not yet".
static REFUSED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)[?,;.!]\s*(?:no|nope|not (?:yet|now))[\s.!]*$"));

/// Past forms and participles that do not end in "ed".
const IRREGULAR: &str = "became began begun bought broke broken brought built came caught chose chosen done drawn drew driven \
    drove fallen fell felt forgot forgotten found gave given gone got gotten heard held kept knew known left lent lost made \
    meant met paid ran rang said saw seen sent shown slept sold spent spoke spoken stood stuck taken taught thought \
    threw thrown told took understood went woke won worn wore written wrote";

/// Verbs whose object is a tool.
const CALLS: [&str; 5] = ["use", "call", "run", "invoke", "execute"];

/// Returns the prompt without the verbs and tool names that it negates. The objects of these verbs
/// stay, because the wanted action has the same object. English only.
pub fn without_negations(prompt: &str) -> Cow<'_, str> {
    if !may_negate(prompt) {
        return Cow::Borrowed(prompt);
    }
    let read = NEGATED.replace_all(prompt, |found: &Captures<'_>| match found.name("nobody") {
        // A state that a tool may bring about: "nobody may push to main".
        Some(_) => found[0].to_owned(),
        None => kept(found, prompt),
    });
    match read {
        Cow::Owned(text) if text != prompt && content_words(&text) > 0 => {
            let text = one_line(&text).replace(" ,", ",");
            Cow::Owned(text.trim_start_matches([',', ';', ' ']).to_owned())
        }
        _ => Cow::Borrowed(prompt),
    }
}

/// Returns the verbs that [`without_negations`] removes, in their base form.
pub fn negated_verbs(prompt: &str) -> Vec<String> {
    if !may_negate(prompt) {
        return Vec::new();
    }
    let is_removed =
        |found: &Captures<'_>| found.name("nobody").is_none() && kept(found, prompt) != found[0];
    let verbs = |found: Captures<'_>| {
        let words = ["first", "second"]
            .map(|name| found.name(name).map(|word| word.as_str().to_lowercase()));
        words.into_iter().flatten().map(|word| base_of(&word).unwrap_or(word)).collect::<Vec<_>>()
    };
    NEGATED.captures_iter(prompt).filter(is_removed).flat_map(verbs).collect()
}

/// Whether a prompt has a word of a negation. Most have none; then the regular expression need not run.
fn may_negate(prompt: &str) -> bool {
    let mut words = prompt.split(|c: char| !c.is_ascii_alphabetic());
    words.any(|word| is_listed(HINTS, word))
}

/// Names that begin with "do not", and words before them: "set me to do not disturb".
const NAMED: &str = "call contact disturb mail track";
const BEFORE_NAMES: &str = "a as off on the to";

/// Whether the words of a "do not" are a name. `before` is the text before them.
fn is_name(before: &str, first: &str) -> bool {
    let last = before.split_whitespace().next_back().unwrap_or_default();
    is_listed(BEFORE_NAMES, last) && is_listed(NAMED, first)
}

/// Returns what remains of a match in a prompt.
fn kept(found: &Captures<'_>, prompt: &str) -> String {
    let part = |name| found.name(name).map_or("", |part| part.as_str());
    let whole = found.get(0).map_or(0..0, |whole| whole.range());
    let rest = &prompt[whole.end..];
    let first = part("first").trim_matches('`').to_ascii_lowercase();
    let is_ban = found.name("ban").is_some();
    if !is_ban && is_name(&prompt[..whole.start], &first) {
        return found[0].to_owned();
    }
    // "I have never been there."
    let is_past = !is_ban && (first == "been" || is_past(&first));
    let tells = !part("who").is_empty() || found.name("third").is_some();
    // "Play Don't Stop Me Now" names a song.
    let is_title = !is_ban && whole.start > 0 && part("first").starts_with(char::is_uppercase);
    let is_statement = is_past || is_title || !is_ban && tells && part("wish").is_empty();
    // "Don't start!" is no order to a tool, "don't start the vacuum" is one.
    let has_object = !part("particle").is_empty() || rest.starts_with(' ');
    let is_known = is_verb(&first) || CALLS.contains(&first.as_str()) || first.contains('_');
    // "Without stops" forbids nothing, "without stopping" does.
    let is_noun = is_manner(part("ban")) && !first.ends_with("ing");
    let is_order = match is_ban {
        true => is_form_of_verb(&first) && !is_noun,
        false => !is_listed(NOT_ORDERS, &first) && (is_known || has_object),
    };
    if is_statement || !is_order || first == "start" && !has_object {
        return found[0].to_owned();
    }
    let second = match part("second") {
        verb if verb.is_empty() || is_verb(&verb.to_ascii_lowercase()) => String::new(),
        other => format!("or {other}"),
    };
    let name = if CALLS.contains(&first.as_str()) { "" } else { part("name") };
    format!("{second}{name}")
}

/// Whether a word is a request verb in any of its forms: "stop", "stops", "stopped", "stopping".
pub(super) fn is_form_of_verb(word: &str) -> bool {
    is_verb(word) || is_listed(IRREGULAR, word) || base_of(word).is_some()
}

/// Returns the request verb of which a word is a regular form.
fn base_of(word: &str) -> Option<String> {
    let stem = ["ing", "ed", "es", "s"].iter().find_map(|ending| word.strip_suffix(ending))?;
    let mut ends = stem.chars().rev();
    let is_double = ends.next() == ends.next();
    let single = is_double.then(|| stem.get(..stem.len().saturating_sub(1))).flatten();
    let y = stem.strip_suffix('i').map(|stem| format!("{stem}y"));
    let bases = [Some(stem.to_owned()), Some(format!("{stem}e")), single.map(str::to_owned), y];
    bases.into_iter().flatten().find(|base| is_verb(base))
}

/// Whether the words of a ban say how an order is to be carried out: "load it without starting it".
fn is_manner(ban: &str) -> bool {
    let ban = ban.to_ascii_lowercase();
    ban == "without" || ban.ends_with("of") || ban.ends_with("than")
}

/// Whether a word is the past form or the participle of a verb of requests, or of an irregular verb:
/// "cancelled", "went".
pub(super) fn is_past(word: &str) -> bool {
    is_listed(IRREGULAR, word) || word.ends_with("ed") && is_form_of_verb(word) && !is_verb(word)
}

/// The end of the clause that a negation begins. After a pronoun, the object is complete.
static CLAUSE_END: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)[,;:.!?](?:\s|$)|\n|",
        r"\b(?:and|but|then|just|only|instead|rather|so|it|them|him|her)\b",
    ))
});

/// Whether a prompt orders nothing beside what it forbids. English only.
pub fn only_forbids(prompt: &str) -> bool {
    if !may_negate(prompt) {
        return REFUSED.is_match(prompt);
    }
    let left = without_negated_clauses(prompt);
    // Nouns such as "order" are verbs elsewhere, so the objects of negated verbs do not count.
    let is_ordered = || words(&left).any(|word| is_verb(&word)) || orders(&left);
    REFUSED.is_match(prompt) || left != prompt && !is_ordered()
}

/// Whether a clause begins with a verb: "just dim it".
fn orders(text: &str) -> bool {
    let is_opener = |word: &String| is_listed("and but instead just only please rather then", word);
    let mut clauses = text.split(['.', ',', ';', ':', '!', '?', '\n']);
    clauses.any(|clause| {
        words(clause).find(|word| !is_opener(word)).is_some_and(|word| may_order(&word))
    })
}

/// The same for a translation from a language, in which a "not" stays.
pub fn forbids_in_translation(read: &str, language: Language) -> bool {
    let clauses = read.split(['.', ',', ';', ':', '!', '?', '\n']);
    clauses.into_iter().any(|clause| forbids_by_word(clause, language))
}

/// Verbs with which a "not" forbids, wherever it is.
const MODALS: &str = "must should shall may can could allowed permitted";

/// Whether a "not" in a clause that was translated word by word forbids something. After its subject it
/// tells that something does not happen: "the printer prints not". A German order may begin with its
/// object: "the card not block".
fn forbids_by_word(clause: &str, language: Language) -> bool {
    let words: Vec<String> = words(clause).filter(|word| !word.is_empty()).collect();
    let Some(at) = words.iter().position(|word| word == "not") else { return false };
    let has_subject = words[..at].iter().any(|word| is_content(word)) && !is_verb(&words[0]);
    let is_infinitive = || {
        let next = words.get(at + 1).is_some_and(|next| is_verb(next));
        language == Language::German && next
    };
    !has_subject || is_infinitive() || words.iter().any(|word| is_listed(MODALS, word))
}

/// Returns the words in lower case. The parts of a name such as `old.log` are no words.
fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split_whitespace();
    words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase())
}

fn without_negated_clauses(prompt: &str) -> String {
    let mut left = String::new();
    let mut at = 0;
    for found in NEGATED.captures_iter(prompt) {
        let whole = found.get(0).map_or(0..0, |whole| whole.range());
        if whole.start < at || kept(&found, prompt) == prompt[whole.clone()] {
            continue;
        }
        let before = &prompt[at..whole.start];
        // The subject of a ban is no order: "order 12 must not be cancelled".
        let is_subject = |ban: &Match<'_>| !is_manner(ban.as_str());
        let stays = match found.name("ban").filter(is_subject) {
            Some(_) => CLAUSE_END.find_iter(before).last().map_or(0, |border| border.end()),
            None => before.len(),
        };
        left.push_str(&before[..stays]);
        let end = CLAUSE_END.find(&prompt[whole.end..]).map(|end| whole.end + end.end());
        at = end.unwrap_or(prompt.len());
    }
    left.push_str(&prompt[at..]);
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verbs_that_are_forbidden_are_told() {
        for (prompt, verbs) in [
            ("write a mail but do not send it yet", &["send"][..]),
            ("restart it without deleting or moving the logs", &["delete", "move"]),
            ("I did not send it, they don't update it", &[]),
            ("send it", &[]),
        ] {
            assert_eq!(negated_verbs(prompt), verbs, "{prompt}");
        }
    }

    #[test]
    fn names_forbid_nothing() {
        for prompt in [
            "set me to do not disturb in Teams",
            "turn on Do Not Disturb for an hour",
            "put Ann on the do not call list",
            "no one may push to the branch any more",
            "Nobody should be able to pick from lot 9",
        ] {
            assert_eq!(without_negations(prompt), prompt);
        }
        assert_eq!(without_negations("list the do not delete files"), "list the files");
        assert_eq!(without_negations("it is old, so don't delete it"), "it is old, so it");
    }

    #[test]
    fn what_shall_not_be_done_is_left_out_and_its_object_stays() {
        for (prompt, read) in [
            ("don't delete PAY-13, close it as won't do", "PAY-13, close it as won't do"),
            (
                "Don’t delete any disk, only show which ones there are",
                "any disk, only show which ones there are",
            ),
            ("dont rotate or delete the secret, just read it", "the secret, just read it"),
            ("archive the mail, do not delete it", "archive the mail, it"),
            ("never send anything, only draft the reply", "anything, only draft the reply"),
            ("I don't want you to delete the branch, rename it", "the branch, rename it"),
            ("do not use delete_email, archive it instead", "archive it instead"),
            ("don't call `delete_email`; archive it", "archive it"),
            ("don't delete_email, archive it", "archive it"),
            ("don't cancel order 5512, just pause it", "order 5512, just pause it"),
            ("unlock the door, don't lock it", "unlock the door, it"),
            ("don't start the vacuum", "the vacuum"),
            ("you must be careful and never shred the file", "you must be careful and the file"),
            ("but never embed the video, link it", "but the video, link it"),
            ("create a branch, don't switch to it", "create a branch, to it"),
            ("show the log, don't revert anything", "show the log, anything"),
            ("turn the lights on, don't turn them off", "turn the lights on,"),
            ("the mixer must not be stopped, start it", "the mixer, start it"),
            ("you shouldn’t stop the mixer", "the mixer"),
            ("make sure that nobody stops the mixer", "the mixer"),
            ("avoid stopping the mixer", "the mixer"),
            ("there is no need to stop the mixer", "there is the mixer"),
            ("don't turn off the light", "the light"),
        ] {
            assert_eq!(without_negations(prompt), read, "{prompt}");
        }
    }

    #[test]
    fn a_prompt_may_forbid_and_order_nothing() {
        for (prompt, forbids) in [
            ("don't delete the file", true),
            ("don't turn off the light", true),
            ("dont delete old.log", true),
            ("don't ship order 992 yet", true),
            ("please do not cancel my order", true),
            ("order 12 must not be cancelled", true),
            ("the mixer mustn't be stopped", true),
            ("you shouldn't stop the mixer", true),
            ("nobody should stop the mixer", true),
            ("nobody is to stop the mixer", true),
            ("no one ought to cancel order 12", true),
            ("make sure nobody stops the mixer", true),
            ("nobody must touch the oven, lock the door", false),
            ("avoid stopping the mixer", true),
            ("no need to stop the mixer", true),
            ("rather not stop the mixer", true),
            ("under no circumstances cancel order 12", true),
            ("stop the mixer? not yet", true),
            ("the mixer must not be stopped, start it", false),
            ("the tests must not fail, run them", false),
            ("don't cancel order 5512, just pause it", false),
            ("don't ship order 992 but pause it", false),
            ("archive the mail, do not delete it", false),
            ("the file", false),
            ("don't book flight FL-8 yet, just hold the fare", false),
            ("don't hide review RV-31, answer it", false),
            ("don't block the card, freeze it", false),
            ("don't turn the light off, dim it", false),
            ("I have never been to Brazil", false),
            ("block card 7 without ordering a new one", false),
        ] {
            assert_eq!(only_forbids(prompt), forbids, "{prompt}");
        }
        for (read, language) in [
            ("not delete file", Language::Spanish),
            ("delete file not", Language::German),
            ("file old.txt not delete", Language::German),
            ("invoice 12 not must cancel", Language::Spanish),
        ] {
            assert!(forbids_in_translation(read, language), "{read}");
        }
        assert!(!forbids_in_translation("the oven heats not", Language::German));
        assert!(!forbids_in_translation("door of garage not opens more", Language::French));
        assert!(!forbids_in_translation("delete file", Language::Spanish));
    }

    #[test]
    fn statements_figures_of_speech_and_all_else_stay_as_they_are() {
        for prompt in [
            "they don't update it, find out why",
            "she doesn't update it, find out why",
            "find a flight without stops",
            "I would rather fly than drive",
            "play Don't Stop Me Now",
            "there is a charge from Brazil, I have never been there",
            "don't forget to send the mail",
            "don't start",
            "I don't know which file it is",
            "why don't you send the mail",
            "don't let it run out",
            "not now",
            "notify Donna that the donation came",
            "don't delete",
            "never mind",
            "the tests must not fail",
            "no file of mine",
            "не удаляй, don't",
            "",
        ] {
            assert!(matches!(without_negations(prompt), Cow::Borrowed(_)), "{prompt}");
            assert_eq!(without_negations(prompt), prompt);
        }
    }

    #[test]
    fn long_prompts_take_little_time() {
        let started = std::time::Instant::now();
        without_negations(&"it never stopped ".repeat(2_000));
        assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic_or_come_back_empty(text in "(don't |do not |never |use |delete |_|`|[a-z]{1,4} |\\PC){0,12}") {
            let read = without_negations(&text);
            proptest::prop_assert!(text.trim().is_empty() || !read.trim().is_empty());
        }
    }
}
