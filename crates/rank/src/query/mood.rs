//! Tells orders from questions, statements and messages to somebody else.
//!
//! An order is known by its form: it begins with a verb or with words such as "could you". A
//! statement is known by its subject and its verb. What is neither ("lights off", "nudge Dana") counts
//! as an order unless it follows a statement. English only.

use std::collections::HashSet;

use super::content::own_words;
use super::function_words::begins_object;
use super::negation::{is_form_of_verb, is_past};
use super::plain_text::{first_word, unquoted, without_asides, words};
use super::verbs::{is_request_verb, may_order};
use super::{Pattern, Places, is_listed};
use toolroute_translation::Language;

/// What a clause does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    Order,
    Question,
    Statement,
    /// Neither by its form: "lights off", or a verb that is not listed.
    Fragment,
    /// Only an opener ("please") or the circumstances of another clause ("in the morning").
    Beside,
}

static BORDER: Pattern =
    Pattern::new(r"[.!?;:,]+(?:\s|$)|\n|\s[-–—]+\s|\s(?:and then|and|but|so|then|because)\s");

static OPENER: Pattern = Pattern::new(
    r"^(?:(?:hi|hello|hey|ok|okay|oh|oops|right|alright|well|so|and|then|also|plus|now|finally|lastly|next|first|afterwards|please|pls|kindly|just|simply|only|quickly|actually|by the way|thanks|thank you|sorry|yes|yeah|sure|go ahead and)\b\s*)+",
);

/// Words before an order that make it polite or urgent.
static ORDERING: Pattern = Pattern::new(concat!(
    r"^(?:(?:can|could|would|will|won't) you|",
    r"i(?:'d| would)? (?:like|love|want|need|wish)(?: for)?(?: you)? to|",
    r"(?:i|we)(?: do)? (?:want|need)|i(?:'d| would) (?:like|love)|we (?:want|need) (?:you )?to|",
    r"i(?:'d| would) (?:appreciate it|be (?:glad|grateful|happy)) if you (?:could|would)|",
    r"i(?:'m| am| was) (?:just )?wondering if you (?:could|can)|i(?:'m| am) looking (?:to|for)|",
    r"(?:make|be) sure(?: to| that| you)?|(?:remember|do(?:n't| not) forget) to|let's|let us|",
    r"feel free to|you (?:must|should|have to|need to|can(?: now)?|may(?: now)?)|",
    r"(?:can|could|may) (?:i|we) (?:get|have))\b\s*(?P<rest>.*)",
));

/// Maximum number of such words before one order: "could you make sure to".
const MOST_ORDERING: usize = 4;

/// What follows these words if they order nothing: "I want to know how".
const KNOWING: &str = "know see understand learn hear what how why when where who which not recommend suggest \
    advise consider think say";

/// An order that only asks for an explanation.
static EXPLAIN: Pattern = Pattern::new(
    r"^(?:tell (?:me|us)|show (?:me|us)|explain|describe|let me know|find out|check|see|determine|verify)\s+(?:to (?:me|us) )?(?:how|what|why|when|where|who|which|whether|if)\b",
);

/// Words that begin a question.
const QUESTIONS: &str = "how why what who whom whose where which when whether did does is are was were am should has \
    had can could may might must shall will would isn't aren't";

/// Those before "is".
const ASKED: &str = "how what when where who why";

/// Subjects of a statement.
const SUBJECTS: &str = "i i'm i've i'll i'd we we're we've we'll we'd he he's she she's they they're they've they'll \
    it it's it'll you you're you've you'll that's there there's here's someone somebody anyone anybody everyone \
    everybody nobody";

/// Verbs of a statement, after its subject: auxiliaries, and verbs of saying and wanting.
const FINITE: &str = "is are was were isn't aren't wasn't weren't has have had hasn't haven't hadn't do does did \
    doesn't didn't will would shall should may might must can could cannot can't won't couldn't wouldn't shouldn't \
    says said told asks asked wants wanted needs needed thinks thought knows knew wrote claims mentioned suggests suggested recommends recommended";

/// Those of them that may be nouns or infinitives: "in the can", "to have".
const AMBIGUOUS: &str = "do does did have can will must may needs wants";

/// Words that begin a clause within another: "the price that I can get", "a file named".
const WITHIN: &str = "that which who whose what whatever where when how as than named called titled i you he she we they \
    since although though unless until while";

/// Words that begin the circumstances of an order.
const CIRCUMSTANCES: &str = "in on at by for from with to of about after before if when while as because since although \
    though than unless until once whatever whichever";

/// Words between a verb and its object.
pub(super) const PARTICLES: &str = "up down off out away back";

/// Verbs of an order to somebody else: "ask Dana to stop the mixer".
static TO_OTHERS: Pattern = Pattern::new(concat!(
    r"^(?:(?P<told>ask|tell|instruct|remind|urge|advise) (?P<who>(?:[\w'§¤-]+\s+){1,4}?)to (?:not )?|",
    r"(?:(?:i|we)(?:'d| would)? (?:want|need|like)|get) (?P<wanted>(?:(?:my|our|the) )?[\w'-]+) to (?:not )?|",
    r"(?:let|have) (?P<name>[\w'-]+) )(?P<verb>[a-z]+)\b",
));

/// Whom an order with these words is for: the assistant, or a thing.
const OURSELVES: &str = "you it this that these those them me us to something somewhere";

/// What is to be done with a thing, and what is new of the user.
static NEED: Pattern = Pattern::new(
    r"^(?:[^\s]+ ){1,4}?(?:needs? to|should|must|has to|can) be [a-z]+(?: |$)|^(?:my|our) new (?:[a-z-]+ ){1,3}is [^\s]+$",
);

/// What a tool does with an order to somebody else.
#[derive(Clone, Copy)]
pub struct Doer<'a> {
    /// Whether it does what a verb says.
    pub does: &'a dyn Fn(&str) -> bool,
    /// Whether it tells somebody else what to do: a message, a reminder.
    pub passes_on: bool,
}

/// Returns why a prompt orders nothing, or not from the tool; `None` if it orders something.
///
/// Reads English. Texts in other languages count as orders.
pub fn no_order(prompt: &str, places: Places<'_>, tool: Doer<'_>) -> Option<&'static str> {
    if Language::of(prompt).is_some() {
        return None;
    }
    let plain = unquoted(prompt, places);
    let plain = own_words(&plain);
    let clauses = clauses(&plain);
    let moods: Vec<Mood> = clauses.iter().map(Clause::mood).collect();
    // "We have an intruder, lock everything down".
    let is_order = |(clause, mood): (&Clause<'_>, &Mood)| match mood {
        Mood::Order => true,
        Mood::Fragment => {
            let body = words(clause.body());
            // "Water in zone 3 is high" orders nothing.
            let [verb, next, ..] = body[..] else { return false };
            may_order(verb) && !is_listed(CIRCUMSTANCES, next)
        }
        _ => false,
    };
    let has_order = || clauses.iter().zip(&moods).any(is_order);
    // What is no condition of an order is an indirect question: "I'd like to see whether it is warm".
    let is_indirect = || words(&without_asides(&plain)).iter().any(|w| is_listed("if whether", w));
    let first = *moods.iter().find(|mood| **mood != Mood::Beside)?;
    if first == Mood::Question || is_indirect() {
        return Some("the prompt asks a question");
    }
    let is_needed = || clauses.iter().any(Clause::says_a_need);
    if first == Mood::Statement && !has_order() && !is_needed() {
        return Some("the prompt tells something and orders nothing");
    }
    let is_for_others = clauses.iter().any(|clause| clause.is_for_others(tool));
    is_for_others.then_some("the prompt wants somebody else to do it")
}

/// Whether a word may begin the clause of a condition ("should the dough …") or the object of a verb.
pub(super) fn begins_clause(word: &str) -> bool {
    word == "that" || is_listed(SUBJECTS, word) || begins_object(word)
}

/// Whether a text without quotes has a clause that is an order by its form: "would you mind stopping it".
pub(super) fn has_order(plain: &str) -> bool {
    clauses(plain).iter().any(|clause| clause.mood() == Mood::Order)
}

/// Returns what the clauses of a text without quotes order, each without words such as "please" and
/// "could you": an order by its form, or what is neither that nor a statement ("lights off").
pub(super) fn orders(plain: &str) -> Vec<&str> {
    clauses(plain).iter().filter_map(Clause::order).collect()
}

/// Returns those of the [`orders`] that are none by their form.
pub(super) fn fragments(plain: &str) -> HashSet<&str> {
    let clauses = clauses(plain);
    let is_fragment = |clause: &&Clause<'_>| clause.form() == Mood::Fragment;
    clauses.iter().filter(is_fragment).filter_map(Clause::order).collect()
}

/// Past forms of a statement, beside regular ones.
const PAST: &str = "was were went came did had got gave left took broke fell died moved";

/// Words after which "ed" is no past: "it can be closed".
const BEING: &str = "be been being is are get gets to";

/// Words for somebody who is not there: "Ann is on leave until Monday".
const AWAY: &str = "away holiday ill leave sick vacation";

/// Words with which a statement says what somebody wants.
const WISHING: &str =
    "want wants wanted wish wishes wished asked told said say says agreed decided planned meant";

/// Returns a text without quotes and without the clauses that only tell how things were: "it went live this
/// morning" postpones nothing.
pub(super) fn without_reports(plain: &str) -> String {
    let is_report = |clause: &Clause<'_>| {
        let said: Vec<&str> = clause.text.split_whitespace().collect();
        let has = |list: &str| said.iter().any(|word| is_listed(list, word));
        let is_past = |at: usize| {
            let before = at.checked_sub(1).map_or("", |before| said[before]);
            is_listed(PAST, said[at]) || said[at].ends_with("ed") && !is_listed(BEING, before)
        };
        clause.form() == Mood::Statement
            && !has(WISHING)
            && ((1..said.len()).any(is_past) || has("is are") && has(AWAY))
    };
    without_clauses(plain, is_report)
}

/// Returns a text without quotes and without the clauses that tell something: "the speaker is stuck in Oslo" beside an
/// order. What somebody wants, or what is needed, stays.
pub(super) fn without_statements(plain: &str) -> String {
    let is_told = |clause: &Clause<'_>| {
        let mut said = clause.text.split_whitespace();
        let is_wish = said.any(|word| is_listed(WISHING, word)) || clause.says_a_need();
        clause.form() == Mood::Statement && !is_wish
    };
    without_clauses(plain, is_told)
}

fn without_clauses(plain: &str, is_left_out: impl Fn(&Clause<'_>) -> bool) -> String {
    let kept = clauses(plain).into_iter().filter(|clause| !is_left_out(clause));
    kept.flat_map(|clause| [clause.text, clause.end]).collect()
}

/// Verbs of orders to look or to tell.
const LOOKING: &str = "check count display explain find list search see show tell verify view";

/// Whether a text without quotes only asks, orders to look, or names a thing.
pub(super) fn wants_to_see(plain: &str) -> bool {
    let clauses = clauses(plain);
    let mut said = clauses.iter().map(|clause| (clause, clause.mood()));
    let sees = |(clause, mood): (&Clause<'_>, Mood)| {
        let verb = clause.order().map(first_word).unwrap_or_default();
        match mood {
            Mood::Question | Mood::Beside => true,
            Mood::Order => is_listed(LOOKING, &verb),
            Mood::Fragment => is_listed(LOOKING, &verb) || !may_order(&verb),
            Mood::Statement => false,
        }
    };
    let is_said = clauses.iter().any(|clause| clause.mood() != Mood::Beside);
    is_said && said.all(sees)
}

/// Returns the last clause of a text without quotes, without its opener, and what it does by its form.
pub(super) fn last_clause(plain: &str) -> (Mood, &str) {
    let clauses = clauses(plain);
    clauses.last().map_or((Mood::Beside, ""), |last| (last.form(), last.body()))
}

/// Abbreviations before a name.
const TITLES: &str = "dr mr mrs ms prof st";

/// Splits a text into its clauses.
fn clauses(plain: &str) -> Vec<Clause<'_>> {
    let (mut clauses, mut from) = (Vec::new(), 0);
    for border in BORDER.find_iter(plain) {
        // "Dr. Weber".
        let before = plain[from..border.start()].split_whitespace().next_back();
        if border.as_str().starts_with('.') && before.is_some_and(|w| is_listed(TITLES, w)) {
            continue;
        }
        clauses.push(Clause { text: &plain[from..border.start()], end: border.as_str() });
        from = border.end();
    }
    clauses.push(Clause { text: &plain[from..], end: "" });
    clauses
}

/// A part of a sentence, in lower case, and the border after it.
struct Clause<'a> {
    text: &'a str,
    end: &'a str,
}

/// A text without "please" and the like at its beginning.
fn without_opener(text: &str) -> &str {
    let text = text.trim();
    OPENER.find(text).map_or(text, |opener| text[opener.end()..].trim())
}

impl<'a> Clause<'a> {
    fn body(&self) -> &'a str {
        without_opener(self.text)
    }

    fn order(&self) -> Option<&'a str> {
        let is_order = matches!(self.form(), Mood::Order | Mood::Fragment);
        let mut order = self.body();
        for _ in 0..MOST_ORDERING {
            let rest = ORDERING.captures(order).and_then(|found| found.name("rest"));
            let Some(rest) = rest else { break };
            order = without_opener(rest.as_str());
        }
        // "Help me understand it" asks for help, "help me cancel it" is an order.
        let helped = ["help me to ", "help us to ", "help me ", "help us "];
        let helped = helped.iter().find_map(|help| order.strip_prefix(help));
        let begins = |order: &&str| words(order).first().is_some_and(|verb| may_order(verb));
        is_order.then_some(helped.filter(begins).unwrap_or(order))
    }

    fn mood(&self) -> Mood {
        match self.form() {
            // "Stop the mixer?" asks whether to; "could you stop it?" is an order.
            Mood::Order | Mood::Fragment if self.end.starts_with('?') && !self.is_polite() => {
                Mood::Question
            }
            form => form,
        }
    }

    /// Whether it tells what is to be done with a thing, or what is new: "the pipeline needs to be paused", "my new address
    /// is …".
    fn says_a_need(&self) -> bool {
        let body = self.body();
        let first = words(body).first().copied().unwrap_or_default();
        NEED.is_match(body) && !is_listed(SUBJECTS, first)
    }

    fn is_polite(&self) -> bool {
        ORDERING.is_match(self.body())
    }

    /// The mood without the mark at the end.
    fn form(&self) -> Mood {
        let body = self.body();
        let rest = ORDERING.captures(body).and_then(|found| found.name("rest"));
        // "You can't."
        let rest = rest.map(|rest| rest.as_str()).filter(|rest| !rest.starts_with(['\'', '’']));
        if let Some(rest) = rest {
            let next = words(rest).first().copied().unwrap_or_default();
            return match next {
                "" => Mood::Beside,
                next if is_listed(KNOWING, next) => Mood::Statement,
                _ => Mood::Order,
            };
        }
        let words = words(body);
        let Some(&first) = words.first() else { return Mood::Beside };
        let second = words.get(1).copied().unwrap_or_default();
        // "Do number 3" and "have the report sent" are orders.
        let is_asked = match first {
            "have" => is_listed(SUBJECTS, second),
            "do" => is_listed("i you we they he she", second),
            // "What's the weather".
            _ => is_listed(QUESTIONS, first) || is_listed(ASKED, first.trim_end_matches("'s")),
        };
        if is_asked || EXPLAIN.is_match(body) {
            Mood::Question
        } else if is_listed(SUBJECTS, first) || only_considers(&words) {
            Mood::Statement
        } else if is_listed(CIRCUMSTANCES, first) {
            if has_finite_verb(&words) { Mood::Statement } else { Mood::Beside }
        } else if !begins_object(first)
            && (begins_object(second) && !denies_on(&words) || is_listed(PARTICLES, second))
        {
            Mood::Order
        } else if has_finite_verb(&words) {
            Mood::Statement
        } else if is_request_verb(first) {
            Mood::Order
        } else {
            Mood::Fragment
        }
    }

    /// Whether it orders something from somebody else.
    fn is_for_others(&self, tool: Doer<'_>) -> bool {
        let body = self.body();
        let order = ORDERING.captures(body).and_then(|found| found.name("rest"));
        [Some(body), order.map(|rest| rest.as_str())].into_iter().flatten().any(|text| {
            let Some(found) = TO_OTHERS.captures(text) else { return false };
            let part = |name| found.name(name).map_or("", |part| part.as_str().trim());
            let verb = part("verb");
            let who = ["who", "wanted", "name"].map(part).concat();
            let first = who.split(' ').next().unwrap_or_default();
            // Also "remind me to stop the mixer" is no order to stop it now.
            let is_ours = part("told") != "remind" && is_listed(OURSELVES, first);
            let is_thing = part("who").is_empty() && begins_object(&who);
            let is_done = (tool.does)(verb);
            let is_passed_on = tool.passes_on && !is_done;
            (is_request_verb(verb) || is_done) && !is_ours && !is_thing && !is_passed_on
        })
    }
}

/// Whether "no longer" or "no more" follows the first word: "Ann no longer needs it".
fn denies_on(words: &[&str]) -> bool {
    matches!(words, [_, "no", "longer" | "more" | "less", ..])
}

/// Whether an action is named and not ordered: "cancelling order 12", "consider cancelling it".
fn only_considers(words: &[&str]) -> bool {
    let most = if may_order(words[0]) { 1 } else { 3 };
    let mut ahead = words.iter().take(most).take_while(|word| !begins_object(word));
    ahead.any(|word| word.ends_with("ing") && is_form_of_verb(word))
}

/// Whether a subject and a verb of a statement come first: "Dana says", "order 12 has been".
pub(super) fn has_finite_verb(words: &[&str]) -> bool {
    // After an order's verb, only what is near tells that it is a noun: "order 12 has been cancelled".
    let most = if is_request_verb(words[0]) { 4 } else { words.len() };
    let begins = |word: &str| is_listed(WITHIN, word) && !begins_object(words[0]);
    let end = (1..words.len()).find(|at| begins(words[*at])).unwrap_or(words.len());
    (1..end.min(most)).any(|at| {
        let (word, before) = (words[at], words[at - 1]);
        let is_noun = begins_object(before) || before == "to";
        let is_month = word == "may" && before.ends_with(|c: char| c.is_numeric());
        if word == "never" {
            return words.get(at + 1).is_some_and(|next| next.ends_with("ed") || is_past(next));
        }
        if is_listed(FINITE, word) {
            return !(is_month || is_noun && is_listed(AMBIGUOUS, word));
        }
        !is_request_verb(words[0])
            && !begins_object(before)
            && at + 1 < words.len()
            && is_past(word)
    })
}

#[cfg(test)]
mod tests;
