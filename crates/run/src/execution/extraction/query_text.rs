//! The prompt's own words as the value of a query parameter.

use std::ops::Range;

use super::arguments::may_be_meant;
use super::mention::{Content, Mention};
use super::plan::Plan;
use super::reference;
use super::slot::Kind;
use super::text::{
    ARTICLES, Word, is_article, is_function_word, is_listed, name_words, stem, words,
};
use serde_json::Value;
use toolroute_catalog::Tool;

/// Words that only state that something is to be searched or run.
const COMMANDS: &str = "ask execute find google look lookup query run search";

/// More verbs that order a search, if the object of the tool follows them.
const ORDERS: &str = "fetch get give list show";

/// The most words of a phrase that is searched for. More words say more than what is searched for.
const MOST_PHRASE_WORDS: usize = 6;

/// How a query that is the whole prompt comes out of it.
pub(super) const OWN_WORDS: &str = "the prompt's own words";

/// Words before the verb of an order.
pub(super) const POLITE: &str = "can could kindly please will would you";

/// Prepositions that only lead to what is searched for.
const TOPICAL: &str = "about concerning for on regarding";

/// Prepositions that are a part of what is searched for: "to Rome". "of" is in neither list,
/// because it makes one name of the words around it: "library of congress".
const OTHERS: &str = "at before between by from in near since to under with without";

impl Plan<'_> {
    /// Gives the prompt's words, without the order in front of them and the values of other
    /// parameters, to a query parameter if it is the only required text parameter without a value.
    /// `objects` are the stems of what the tool searches.
    pub fn give_words(&mut self, objects: &[String]) {
        let is_open_text = |at: &usize| {
            self.is_open(*at) && self.slots[*at].required && self.slots[*at].kind.is_text()
        };
        let open: Vec<usize> = (0..self.slots.len()).filter(is_open_text).collect();
        if open.is_empty() {
            return self.give_phrase(objects);
        }
        let [slot] = open[..] else { return };
        if self.slots[slot].kind != Kind::Query || self.slots[slot].is_list {
            return;
        }
        let quotes = self.free_quotes();
        let is_search = self.slots[slot].has_word("keyword keywords q query search term");
        if let [(at, quote)] = &quotes[..]
            && ((is_search && self.ends_clause(*at))
                || self.is_only_commands(std::slice::from_ref(&self.context.mentions[*at].span)))
        {
            self.taken[*at] = true;
            let span = self.context.mentions[*at].span.clone();
            return self.take(slot, quote.clone(), &span, "");
        }
        let words = self.remaining();
        if words.is_empty() || self.is_only_commands(&[]) {
            return;
        }
        let text = self.context.text;
        let words =
            without_order(&words, self.tool_words.first().map_or("", String::as_str), objects)
                .unwrap_or(&words)
                .to_owned();
        let words = self.without_own_verb(words);
        // The words are together in the prompt unless values of other parameters were among them.
        let start = self.spent.is_empty().then(|| text.rfind(&words)).flatten();
        let span = start.map_or(0..text.len(), |start| start..start + words.len());
        let how = match start {
            Some(0) => OWN_WORDS,
            Some(_) => "",
            None => "the prompt's own words, without values that are for other parameters",
        };
        self.take(slot, words, &span, how);
        // The words contain the values that no parameter took.
        self.taken.fill(true);
    }

    /// Removes the verb of a tool that may change something: "Kind of Blue" of "play Kind of Blue".
    fn without_own_verb(&self, words: String) -> String {
        let Some((first, rest)) = words.split_once(' ') else { return words };
        let is_own = self.is_in_name(&first.to_lowercase());
        if is_own && !self.effects.reads_only() { rest.to_owned() } else { words }
    }

    /// Gives an optional query the phrase that the prompt searches for, if nothing else was taken from
    /// the prompt. A phrase that may say something else, as "in Berlin", becomes a question.
    fn give_phrase(&mut self, objects: &[String]) {
        let open = || (0..self.slots.len()).filter(|at| self.is_open(*at));
        let queries: Vec<usize> = open().filter(|at| self.slots[*at].kind == Kind::Query).collect();
        let is_name = |at: &usize| {
            let words = &self.slots[*at].words[..];
            matches!(words, [word] if is_listed(word, "keyword name term"))
        };
        let names: Vec<usize> = open().filter(is_name).collect();
        let (slot, is_name) = match (&queries[..], &names[..]) {
            ([query], _) => (*query, false),
            ([], [name]) if self.effects.reads_only() => (*name, true),
            _ => return,
        };
        if self.slots[slot].is_list || self.has_any() {
            return;
        }
        let text = self.context.text;
        let Some(Phrase { span, is_plain, has_topic }) = phrase(text, objects) else { return };
        // "Pods for production" may say nothing of their names.
        if is_name && has_topic {
            return;
        }
        let has_content = |word: &Word| {
            let is_within = span.start <= word.span.start && word.span.end <= span.end;
            let is_prose =
                is_function_word(&word.lower) || self.tool_words.contains(&stem(&word.lower));
            is_within && !is_prose
        };
        if !self.context.words.iter().any(has_content) {
            return;
        }
        let within =
            |mention: &Mention| span.start < mention.span.end && mention.span.start < span.end;
        let is_word = |mention: &Mention| {
            matches!(mention.content, Content::Place(_) | Content::Token(_) | Content::Quoted(_))
        };
        let mut mentions = self.context.mentions.iter();
        let said = text[span.clone()].to_owned();
        let value = Value::from(said.trim_matches(['"', '“', '”']));
        let this = &self.slots[slot];
        let fits = self.reader.checker.misfit(&this.path, false, &value).is_none();
        let is_text = mentions.all(|mention| !within(mention) || is_word(mention));
        if !is_plain || !is_text || !fits {
            self.ask_about(slot, &may_be_meant(&said), vec![said]);
            return;
        }
        for (mention, taken) in self.context.mentions.iter().zip(&mut self.taken) {
            *taken |= within(mention);
        }
        self.take(slot, value, &span, "");
    }

    /// Whether a value ends its clause: "find "Hurt" by Johnny Cash" searches for more.
    fn ends_clause(&self, at: usize) -> bool {
        let rest = self.context.text[self.context.mentions[at].span.end..].trim_start();
        rest.is_empty() || rest.starts_with(['.', ',', ';', '!', '?'])
    }

    fn free_quotes(&self) -> Vec<(usize, String)> {
        let mentions = self.context.mentions.iter().enumerate();
        let quotes = mentions.filter(|(at, _)| !self.taken[*at]).filter_map(|(at, mention)| {
            let Content::Quoted(text) = &mention.content else { return None };
            Some((at, text.clone()))
        });
        quotes.collect()
    }

    /// Whether the prompt has no content apart from commands, `beside` and the parts that are
    /// spent.
    fn is_only_commands(&self, beside: &[Range<usize>]) -> bool {
        let is_spent = |span: &Range<usize>| {
            let mut spans = self.spent.iter().chain(beside);
            spans.any(|spent| spent.start <= span.start && span.end <= spent.end)
        };
        let is_command = |word: &str| {
            is_function_word(word)
                || is_listed(word, COMMANDS)
                || is_listed(word, reference::WORDS)
                || self.tool_words.contains(&stem(word))
        };
        self.context.words.iter().all(|word| is_spent(&word.span) || is_command(&word.lower))
    }

    /// The prompt without the parts that are spent.
    fn remaining(&self) -> String {
        let text = self.context.text;
        if self.spent.is_empty() {
            return text.trim().to_owned();
        }
        let mut spent = self.spent.clone();
        spent.sort_by_key(|span| span.start);
        let mut words: Vec<&str> = Vec::new();
        let mut from = 0;
        for span in spent.iter().chain([&(text.len()..text.len())]) {
            words.extend(text[from.min(span.start)..span.start].split_whitespace());
            from = from.max(span.end);
        }
        while words.first().is_some_and(|word| is_loose(word)) {
            words.remove(0);
        }
        let is_left = |word: &&str| is_loose(word) || is_article(&word.to_lowercase());
        while words.last().is_some_and(is_left) {
            words.pop();
        }
        let mut tidy = words.join(" ");
        for (from, to) in [(" ,", ","), (",,", ","), (" .", "."), (" ?", "?")] {
            tidy = tidy.replace(from, to);
        }
        tidy.trim_matches([',', ';', ':', ' ']).to_owned()
    }
}

/// The stems of the words for what a tool searches: those of its name, of its server's name, and of
/// the first object in its description ("Searches the books of a library").
pub(super) fn objects(tool: &Tool) -> Vec<String> {
    let clause = tool.description.split(['.', ',', ';', ':', '(']).next().unwrap_or_default();
    let described = words(clause).into_iter().map(|word| word.lower).skip(1);
    let described = described.skip_while(|word| is_function_word(word));
    let described = described.take_while(|word| !is_function_word(word));
    let named = name_words(&tool.name).into_iter();
    let all = named.chain(name_words(tool.server.as_deref().unwrap_or_default())).chain(described);
    let is_object = |word: &String| !is_function_word(word) && !is_listed(word, COMMANDS);
    all.filter(is_object).map(|word| stem(&word)).collect()
}

/// The words of an order, and the stems of the tool's verb and objects.
struct OrderWords<'a> {
    said: Vec<Word>,
    verb: &'a str,
    objects: &'a [String],
}

impl OrderWords<'_> {
    fn is(&self, at: usize, list: &str) -> bool {
        self.said.get(at).is_some_and(|word| is_listed(&word.lower, list))
    }

    /// The place of the first word from `at` on that is not in the list.
    fn past(&self, at: usize, list: &str) -> usize {
        at + self.said.iter().skip(at).take_while(|word| is_listed(&word.lower, list)).count()
    }

    /// Whether a word is the tool's own verb, or "find", which is no noun as "search" is.
    fn is_verb(&self, at: usize) -> bool {
        let is_own =
            |word: &Word| stem(&word.lower) == self.verb && !is_listed(&word.lower, COMMANDS);
        self.said.get(at).is_some_and(|word| is_own(word) || word.lower == "find")
    }

    fn is_capital(&self, at: usize, text: &str) -> bool {
        let word = self.said.get(at);
        word.is_some_and(|word| text[word.span.clone()].starts_with(char::is_uppercase))
    }

    fn is_object(&self, at: usize) -> bool {
        self.said.get(at).is_some_and(|word| self.objects.contains(&stem(&word.lower)))
    }
}

/// What follows the order at the beginning of a text. An order is "search for", "look for" or
/// "look up", or a verb with an object of the tool and a preposition. Returns `None` without an
/// order, and if nothing is left.
fn without_order<'a>(text: &'a str, own: &str, objects: &[String]) -> Option<&'a str> {
    let order = OrderWords { said: words(text), verb: own, objects };
    let said = &order.said;
    let (is, past) = (|at, list| order.is(at, list), |at, list| order.past(at, list));
    let is_object = |at| order.is_object(at);
    let verb = past(0, POLITE);
    let word = said.get(verb)?.lower.as_str();
    let is_own = order.is_verb(verb);
    let searches = is_listed(word, COMMANDS) || is_listed(word, ORDERS);
    if !is_own && !searches {
        return None;
    }
    let has_particle = match word {
        "look" => is(verb + 1, "for up"),
        "search" => is(verb + 1, "for"),
        _ => false,
    };
    let after_verb = match has_particle {
        true => verb + 2,
        false => past(verb + 1, "me us"),
    };
    let object = past(after_verb, ARTICLES);
    let after_object = (object..).find(|at| !is_object(*at))?;
    let has_object = searches
        && after_object > object
        && (word != "look" || has_particle)
        && (is(after_object, TOPICAL) || is(after_object, OTHERS));
    let rest = match has_object {
        true => after_object + usize::from(is(after_object, TOPICAL)),
        false if has_particle => after_verb,
        // "Find the movie Inception", but "find book covers".
        false
            if is_own
                && object > after_verb
                && after_object > object
                && order.is_capital(after_object, text) =>
        {
            after_object
        }
        false if is_own => past(after_verb, "a an any me some us"),
        false => return None,
    };
    let ordered = said.get(..rest)?;
    // Signs between the words are no part of an order: "search: the web for".
    let is_plain =
        |pair: &[super::text::Word]| text[pair[0].span.end..pair[1].span.start].trim().is_empty();
    let has_content = said[rest..].iter().any(|word| !is_function_word(&word.lower));
    let end = ordered.last().map_or(0, |word| word.span.end);
    (ordered.windows(2).all(is_plain) && has_content)
        .then(|| text[end..].trim_start_matches([':', ',', ' ']).trim())
}

/// What a prompt searches for.
struct Phrase {
    span: Range<usize>,
    /// Whether it is short, begins with no preposition, and does not say the object again.
    is_plain: bool,
    /// Whether "for", "about" or the like leads to it.
    has_topic: bool,
}

/// Finds what a prompt searches for: "Müller" of "search customers Müller", "bicycle helmets" of "hs code
/// for bicycle helmets". Returns `None` if the prompt neither orders a search nor names an object with
/// "for" or the like.
fn phrase(text: &str, objects: &[String]) -> Option<Phrase> {
    let order = OrderWords { said: words(text), verb: "", objects };
    let said = &order.said;
    let (is, past) = (|at, list| order.is(at, list), |at, list| order.past(at, list));
    let is_object = |at| order.is_object(at);
    let verb = past(0, POLITE);
    let searches = is(verb, COMMANDS);
    let has_verb = searches || is(verb, ORDERS);
    let object = past(if has_verb { past(verb + 1, "me up us") } else { verb }, ARTICLES);
    let after = (object..).find(|at| !is_object(*at))?;
    let topic = past(after, TOPICAL);
    let start = past(topic, "called named");
    if !(searches || (after > object && start > after)) {
        return None;
    }
    let last = said.len() - said.iter().rev().take_while(|word| word.lower == "please").count();
    let rest = said.get(start..last).filter(|rest| !rest.is_empty())?;
    let span = rest[0].span.start..rest[rest.len() - 1].span.end;
    let end = text[span.end..].find(|c: char| c.is_whitespace() || ".,;!?".contains(c));
    let begin = text[..span.start].rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let span = begin..end.map_or(text.len(), |end| span.end + end);
    let is_plain = !is_function_word(&rest[0].lower)
        && rest.len() <= MOST_PHRASE_WORDS
        && !(start..last).any(is_object);
    Some(Phrase { span, is_plain, has_topic: topic > after })
}

/// Whether a word has no meaning at the edge of a text.
fn is_loose(word: &str) -> bool {
    const LOOSE: &str = "about and at for from in of on or to with";
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let has_sign = word.contains(['"', '“', '\'', '`', '«']);
    !has_sign && (bare.is_empty() || is_listed(&bare, LOOSE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_in_front_of_a_text_is_left_out() {
        let books = Tool::new(Some("library"), "search_books", "Searches the books of a library");
        let papers = Tool::new(Some("arxiv"), "search", "Search for academic papers by topic");
        let flights = Tool::new(Some("travel"), "search_flights", "Searches flights");
        let music = Tool::new(Some("phone"), "play_music", "Plays a song or an album");
        for (tool, said, left) in [
            (&books, "search books about dune", Some("dune")),
            (&books, "Could you find me the books on Mars, please", Some("Mars, please")),
            (&books, "search for books by \"Frank Herbert\"", Some("by \"Frank Herbert\"")),
            (&books, "search the library for \"dune\" and sand", Some("\"dune\" and sand")),
            (&books, "search for dune", Some("dune")),
            (&papers, "find the papers on graph theory", Some("graph theory")),
            (&papers, "show academic papers about bees", Some("bees")),
            (&flights, "look up flights to Rome", Some("to Rome")),
            (&flights, "look up Rome", Some("Rome")),
            (&books, "find the book Dune", Some("Dune")),
            // The object is not the tool's, or is the beginning of a name.
            (&books, "find the papers on graph theory", Some("the papers on graph theory")),
            (&books, "find the library of congress", Some("the library of congress")),
            (&books, "find book covers", Some("book covers")),
            (&music, "play some jazz", Some("jazz")),
            (&music, "play Bohemian Rhapsody by Queen", Some("Bohemian Rhapsody by Queen")),
            (&music, "play the song Hurt", Some("Hurt")),
            (&music, "jazz to play", None),
            (&books, "search engines", None),
            (&books, "google stock price", None),
            (&books, "find books about", None),
            (&books, "search: books about dune", None),
            (&books, "books about dune", None),
            (&books, "", None),
        ] {
            assert_eq!(
                without_order(said, &stem(&name_words(&tool.name)[0]), &objects(tool)),
                left,
                "{said}"
            );
        }
    }
}
