//! "delte the brnach", as the words that were meant. A misspelt word falls into pieces that mean
//! nothing to an encoder, and no word of any tool is equal to it.
//!
//! A prompt is full of words that nobody knows and that are right all the same: names, products,
//! other languages, what the caller's own systems are called. So only one slip of the fingers is
//! mended, and only into a word that the tools or our verbs have.

use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use super::foreign::foreign_words;
use super::requests::{is_verb, verbs};

/// What is known of words. All of them are in lower case.
pub trait KnownWords {
    /// Whether who reads the prompt has the word in its vocabulary. Asked of nearly every word, so
    /// it must be quick.
    fn reads(&self, word: &str) -> bool;

    /// The words that are searched, in alphabetical order, and how often each is said. Asked only
    /// for a prompt with a word that is not read.
    fn searched(&self) -> &[(Box<str>, u32)];
}

/// Letters of the shortest word that is looked at: among shorter ones, any is next to any.
const LEAST: usize = 4;

/// Letters from which a word may have one too many, or another vowel: `latte` is not `late`.
const SURE: usize = 6;

/// Bytes of the longest prompt that is looked at: more is pasted rather than typed.
const LONGEST: usize = 2_000;

/// Words in a prompt that are not read, at most: more are code, a log or another language.
const MOST: usize = 16;

/// Unknown words that come near nothing, from which they count against those that do.
const STRANGE: usize = 3;

/// Words of the trade that small vocabularies lack, as far as they are near to words of tools.
const TRADE: &str = "admin agile airtable alexa ansible asana async auth avro backlog bash bitbucket blog bool boolean \
    bot calendly changelog chmod chown chroma codec config cors cron crontab csv curl datadog debit dev devops django \
    docker docs emacs enum env epic figma flask fork gcloud gist github gitlab gmail golang grafana grep gzip heroku \
    hubspot iframe ipad jenkins jira json kafka kanban kubectl lambda latex linter login lua macos maven mermaid mongo \
    mutex mysql neon netlify nginx node nodejs numpy oauth okta openai outlook pandas param perl pip pipenv pod pods \
    podman postgres prettier prisma prod proxy pytest react readme redis redux refactor regex repo repos rollup rust \
    safari sentry shopify slack sonar spotify sqlite ssh stderr stdin stdout stripe svelte svg swift tarball teams \
    telnet terraform todo todoist todos trello twilio twitch typo typos ubuntu undo unix utils uuid vercel vite \
    webhook webhooks webpack wget whatsapp wifi wiki xcode yaml yarn zapier zendesk zip zoom zsh";

/// Words of English that small vocabularies lack and that are a slip away from words of tools and
/// verbs: `unblock` is not `unlock`, and nobody books a branch for lunch. Found by reading a list of
/// English words and names of packages against the catalogs at hand. Words that are more often a slip
/// than meant (`sever`, `inset`) are not among them.
const RIGHT: &str = "aloe backend bake bleach blunder brie brunch carb carton certify chai chic clam classifier \
    clot collage comms cram crds cull cusp deduce deflect deli deplete depletion deprecate deprecation dilute \
    discord dividend exert facet falter forage franc gif gifs grad gradle grate hoard hsts hypotheses impart instill \
    jest lag lager linkerd lint malt mince miro modem modifier modulus mop mousse openapi palate pane parity pastel \
    payback payoff paypal pilates pint poplar posit preset printf prospectus prosper quant racket rant reflux repost \
    resent restate retrain reuse rewrote robo scalar scrabble shard shingle shred sift sill sine soar solicit splice \
    sprintf stationery struct stylus suction swatch synopsis tart temp tirade tropic trot unblock unseat util vigil \
    vocation";

/// Both, to look a word up in.
static RIGHT_WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| TRADE.split_whitespace().chain(RIGHT.split_whitespace()).collect());

/// Endings that words of English may take on, in place of a last `e` or behind a doubled letter.
const OPEN: [&str; 16] = [
    "es", "ed", "ing", "ings", "er", "ers", "or", "ors", "ion", "ions", "able", "al", "ist", "ive",
    "y", "ied",
];

/// Endings that stand behind the whole word.
const SHUT: [&str; 7] = ["s", "ly", "ment", "ments", "ness", "ful", "less"];

/// The prompt with each word that nobody knows as the word of the tools, or the verb, that it is one
/// slip of the fingers away from: two letters changed places, one is missing or, in words of six
/// letters or more, one is too many or another vowel. English only.
///
/// What stands in quotes or among other signs (paths, identifiers, addresses) is content, capitals
/// within a sentence are names, and both stay.
///
/// ```
/// use toolroute_rank::query::{KnownWords, without_typos};
///
/// struct Words(Vec<(Box<str>, u32)>);
/// impl KnownWords for Words {
///     fn reads(&self, word: &str) -> bool {
///         word == "release"
///     }
///     fn searched(&self) -> &[(Box<str>, u32)] {
///         &self.0
///     }
/// }
/// let words = Words(vec![("branch".into(), 2)]);
/// let read = without_typos("Delte the brnach release of Kowalsky", &words);
/// assert_eq!(read, "Delete the branch release of Kowalsky");
/// ```
pub fn without_typos<'a>(prompt: &'a str, known: &impl KnownWords) -> Cow<'a, str> {
    if prompt.len() > LONGEST {
        return Cow::Borrowed(prompt);
    }
    let unread = unread(prompt, known);
    if unread.is_empty() || unread.len() > MOST || !may_be_english(prompt) {
        return Cow::Borrowed(prompt);
    }
    let words = Lexicon { known, searched: known.searched() };
    let (mut mended, mut strange) = (Vec::new(), 0);
    for place in unread {
        let word = prompt[place.clone()].to_ascii_lowercase();
        let is_right = words.knows(&word) || words.is_inflected(&word) || words.has_forms(&word);
        if is_right || is_compound(&word, known) {
            continue;
        }
        match words.meant(&word) {
            Some(meant) => mended.push((place, meant)),
            None => strange += 1,
        }
    }
    if mended.is_empty() || (strange >= STRANGE && strange > mended.len()) {
        return Cow::Borrowed(prompt);
    }
    Cow::Owned(with(prompt, &mended))
}

/// The prompt with words in other words' places; a capital stays one.
fn with(prompt: &str, mended: &[(Range<usize>, &str)]) -> String {
    let (mut text, mut at) = (String::with_capacity(prompt.len() + mended.len()), 0);
    for (place, meant) in mended {
        text.push_str(&prompt[at..place.start]);
        let first = text.len();
        text.push_str(meant);
        if prompt.as_bytes()[place.start].is_ascii_uppercase() {
            text[first..=first].make_ascii_uppercase();
        }
        at = place.end;
    }
    text.push_str(&prompt[at..]);
    text
}

/// The places of the words that may be misspelt: words of prose that are not read.
fn unread(prompt: &str, known: &impl KnownWords) -> Vec<Range<usize>> {
    let (mut found, mut quotes, mut begins) = (Vec::new(), Quotes::default(), true);
    let (mut at, mut lower) = (0, String::new());
    for token in prompt.split_inclusive(char::is_whitespace) {
        let text = token.trim_end();
        let opened = text.trim_start_matches('(');
        let word = opened.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
        if !quotes.cover(text) && is_prose(word, begins) {
            lower.clear();
            lower.push_str(word);
            lower.make_ascii_lowercase();
            if !known.reads(&lower) {
                let start = at + text.len() - opened.len();
                found.push(start..start + word.len());
            }
        }
        begins = token.ends_with('\n') || text.ends_with(['.', ':', '!', '?']);
        at += token.len();
    }
    found
}

/// Whether it is a word of small letters, or of one capital where a sentence begins.
fn is_prose(word: &str, begins: bool) -> bool {
    let Some((first, rest)) = word.as_bytes().split_first() else { return false };
    word.len() >= LEAST
        && (first.is_ascii_lowercase() || (begins && first.is_ascii_uppercase()))
        && rest.iter().all(u8::is_ascii_lowercase)
}

/// Quotes that are open.
#[derive(Default)]
struct Quotes {
    double: bool,
    single: bool,
    code: bool,
}

impl Quotes {
    /// Whether the next token of the text stands in quotes, or has one.
    fn cover(&mut self, token: &str) -> bool {
        let was_open = self.double || self.code || self.single;
        let double = token.matches(['"', '“', '”']).count();
        let code = token.matches('`').count();
        let begins = token.starts_with(['\'', '‘']);
        self.double ^= double % 2 == 1;
        self.code ^= code % 2 == 1;
        if (self.single || begins) && token.chars().nth(1).is_some() {
            let end = token.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
            self.single = !end.ends_with(['\'', '’']);
        }
        was_open || double + code > 0 || begins
    }
}

/// Endings of the forms of a word.
const FORMS: [&str; 4] = ["ed", "ing", "er", "es"];

/// Whether nothing in the text says that it is not.
fn may_be_english(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii() || !c.is_alphabetic()) && foreign_words(text) == 0
}

/// Whether it is two words in one, of four letters each at least: `snapshot`.
fn is_compound(word: &str, known: &impl KnownWords) -> bool {
    let cuts = LEAST..=word.len().saturating_sub(LEAST);
    cuts.into_iter().any(|at| known.reads(&word[..at]) && known.reads(&word[at..]))
}

/// Everything that a prompt's word may be.
struct Lexicon<'a, K> {
    known: &'a K,
    searched: &'a [(Box<str>, u32)],
}

impl<'a, K: KnownWords> Lexicon<'a, K> {
    fn knows(&self, word: &str) -> bool {
        self.searched.binary_search_by(|(known, _)| (**known).cmp(word)).is_ok()
            || is_verb(word)
            || RIGHT_WORDS.contains(word)
            || self.known.reads(word)
    }

    /// Whether the word is a known one with another ending.
    fn is_inflected(&self, word: &str) -> bool {
        // Vocabularies have pieces of three letters: `emial` is no form of `emi`.
        let least = if word.ends_with("al") { LEAST } else { 3 };
        is_inflected(word, |base| base.len() >= least && self.knows(base))
    }

    /// Whether another form of the word is read: `baked` says that `bake` is one. Behind other letters
    /// than `e` such endings make other words (`crat`, `crater`).
    fn has_forms(&self, word: &str) -> bool {
        let Some(stem) = word.strip_suffix('e') else { return false };
        FORMS.iter().any(|ending| self.known.reads(&format!("{stem}{ending}")))
    }

    /// The word that is one slip away; of several the one that is said most, then by the alphabet.
    fn meant(&self, word: &str) -> Option<&'a str> {
        let first = &word[..1];
        let from = self.searched.partition_point(|(known, _)| &**known < first);
        let searched =
            self.searched[from..].iter().take_while(|(known, _)| known.starts_with(first));
        let searched = searched.map(|(known, count)| (&**known, *count));
        let verbs = verbs().filter(|verb| verb.starts_with(first)).map(|verb| (verb, 0));
        let letters = letters(word);
        let near = searched.chain(verbs).filter(|(meant, _)| {
            word.len().abs_diff(meant.len()) <= 1
                && (letters ^ self::letters(meant)).count_ones() <= 2
                && is_slip(word, meant)
                && !is_inflected(meant, |base| base == word)
        });
        near.min_by_key(|(meant, count)| (Reverse(*count), *meant)).map(|(meant, _)| meant)
    }
}

/// The letters of a word, a bit each: words a slip apart differ in two at most.
fn letters(word: &str) -> u32 {
    word.bytes().fold(0, |all, byte| all | 1 << (byte & 31))
}

/// Whether `word` is another form of a word that `is_known`.
fn is_inflected(word: &str, is_known: impl Fn(&str) -> bool) -> bool {
    let bases = |ending: &&str| word.strip_suffix(*ending);
    let is_doubled = |base: &str| {
        matches!(base.as_bytes(), [.., a, b] if a == b) && is_known(&base[..base.len() - 1])
    };
    let in_y = |ending| word.strip_suffix(ending).is_some_and(|base| is_known(&format!("{base}y")));
    SHUT.iter().filter_map(bases).any(&is_known)
        || OPEN
            .iter()
            .filter_map(bases)
            .any(|base| is_known(base) || is_known(&format!("{base}e")) || is_doubled(base))
        || ["ies", "ied"].into_iter().any(in_y)
        || word.strip_suffix(['d', 'r']).is_some_and(|base| base.ends_with('e') && is_known(base))
}

/// Whether one slip of the fingers makes `word` of `meant`.
fn is_slip(word: &str, meant: &str) -> bool {
    if meant.len() < LEAST
        || word.len().abs_diff(meant.len()) > 1
        || strsim::osa_distance(word, meant) != 1
    {
        return false;
    }
    // Another vowel at the end, or one more, is another language: `evento`, `archivo`.
    let is_foreign = word.len() >= meant.len() && word.ends_with(['a', 'e', 'i', 'o']) && {
        meant.starts_with(&word[..word.len() - 1])
    };
    let mut apart = word.bytes().zip(meant.bytes()).filter(|(a, b)| a != b);
    match (word.len().cmp(&meant.len()), apart.next(), apart.next()) {
        (Ordering::Less, ..) => true,
        (Ordering::Greater, ..) => word.len() >= SURE && !is_foreign,
        (Ordering::Equal, Some((a, b)), None) => {
            word.len() >= SURE && !is_foreign && sounds_alike(a, b)
        }
        // Two that changed places.
        _ => true,
    }
}

/// Letters that are written for one another: vowels, and `organise`.
fn sounds_alike(a: u8, b: u8) -> bool {
    let is_vowel = |letter| b"aeiouy".contains(&letter);
    (is_vowel(a) && is_vowel(b)) || matches!((a, b), (b's', b'z') | (b'z', b's'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An encoder's few words, and those of a catalog.
    struct Words {
        read: Vec<&'static str>,
        searched: Vec<(Box<str>, u32)>,
    }

    impl KnownWords for Words {
        fn reads(&self, word: &str) -> bool {
            self.read.contains(&word)
        }

        fn searched(&self) -> &[(Box<str>, u32)] {
            &self.searched
        }
    }

    static WORDS: LazyLock<Words> = LazyLock::new(|| {
        let read = "the with all from into about please what data base snap shot open black board front line \
            hook customer alarm clear late slow high emi";
        let searched = "account accounts author bucket calendar cluster comment commits compiler config coupon \
            customized database debt deletion details downloads editor email emails entries event expense france \
            generate image instances invoice issue issues jira kubernetes late list meeting message network \
            organize page permission playlist point post present project document client pull radius recipe repository reports request \
            schedule schemas screenshot separate services shared snapshots stack stock table task tasks tests thread \
            threads ticket tickets archive topic type types users weather webhooks workflow";
        let mut searched: Vec<(Box<str>, u32)> =
            searched.split_whitespace().map(|word| (word.into(), 1)).collect();
        searched.push(("branches".into(), 1));
        searched.push(("branch".into(), 9));
        searched.sort();
        Words { read: read.split_whitespace().collect(), searched }
    });

    fn read(prompt: &str) -> Cow<'_, str> {
        without_typos(prompt, &*WORDS)
    }

    #[test]
    fn a_misspelt_word_becomes_the_one_that_was_meant() {
        for (prompt, meant) in [
            ("delte the brnach", "delete the branch"),
            ("Creat a kuberntes clsuter", "Create a kubernetes cluster"),
            ("lsit al instnaces", "list al instances"),
            ("shwo me the details, plese. Shwo all", "show me the details, plese. Show all"),
            ("stok of 4711", "stock of 4711"),
            ("write an emial", "write an email"),
            ("seperate (databse) tables!", "separate (database) tables!"),
            ("organise the emialls", "organize the emialls"),
            ("submti my expnese report", "submit my expense report"),
            (
                "dont delte the tiket; opne a pul requst",
                "dont delete the ticket; open a pul request",
            ),
        ] {
            assert_eq!(read(prompt), meant);
        }
    }

    #[test]
    fn a_word_of_which_another_form_is_read_stays() {
        let searched = vec![("glance".into(), 1)];
        let words = |read| Words { read, searched: searched.clone() };
        assert_eq!(without_typos("glace", &words(vec!["glaced"])), "glace");
        assert_eq!(without_typos("glace", &words(Vec::new())), "glance");
    }

    #[test]
    fn of_two_words_the_one_that_is_said_most_was_meant() {
        let words = |counts: [u32; 2]| Words {
            read: Vec::new(),
            searched: vec![("crate".into(), counts[0]), ("crater".into(), counts[1])],
        };
        assert_eq!(without_typos("crat", &words([1, 2])), "crate");
        assert_eq!(without_typos("carte", &words([0, 2])), "crate");
        let words = Words {
            read: Vec::new(),
            searched: vec![("bread".into(), 1), ("breed".into(), 1), ("broad".into(), 3)],
        };
        assert_eq!(without_typos("brad", &words), "broad", "said three times");
        assert_eq!(without_typos("bred", &words), "bread", "by the alphabet");
    }

    #[test]
    fn words_that_are_right_although_nobody_knows_them_stay() {
        let right = "kubectl grafana trello jira repo todo async webhook repos todos auth admin login cron \
            regex yaml stripe sentry slack figma notion asana docker redis nginx kafka sqlite mongo vercel \
            latte radius radium recite scones debit typo wifi openai chia nomads coupons customize deleting \
            generative restocked categorizes intruding quantify eateries astrology commute ambiance listing \
            loesche crear borrar mostrar erstelle zeige naechste termin kalendar_x benutzer incidencia \
            correo archivo evento cliente documento tarea fichier courriel reunion kowalsky mueller smith frontend snapshot blackboard \
            scheduler reposted stacks typescript tabular tasked authored postal pager listener \
            brunch unblock unblocked rewrote shard shards presets shredding pint deprecated";
        for word in right.split_whitespace() {
            assert!(matches!(read(word), Cow::Borrowed(_)), "{word}: {}", read(word));
            let prompt = format!("what about {word} please");
            assert_eq!(read(&prompt), prompt);
        }
        assert!(right.split_whitespace().count() >= 40);
    }

    #[test]
    fn content_names_and_other_languages_stay() {
        for prompt in [
            r#"rename "my brnach" to it"#,
            "rename `brnach` and `the brnach`",
            "rename 'brnach one' to it",
            "rename ‘brnach’ and “brnach two”",
            "open brnach/ui, ./brnach, brnach.txt, a@brnach and #brnach",
            "brnach_one two-brnach brnach() $brnach brnach=1 branch's brnach's",
            "write to Brnach and BRNACH",
            "loesche den brnach",
            "borra el brnach",
            "lösch brnach",
            "删除 brnach",
            "kapan ukuran lagi brnach",
            "",
            "  ",
        ] {
            assert!(matches!(read(prompt), Cow::Borrowed(_)), "{prompt}: {}", read(prompt));
        }
        let long = format!("brnach {}", "word ".repeat(LONGEST));
        assert_eq!(read(&long), long);
        let code = "zxqv ".repeat(MOST) + "brnach";
        assert_eq!(read(&code), code);
        assert_eq!(read("it's 'so' and don't: brnach"), "it's 'so' and don't: branch");
    }

    #[test]
    fn nothing_is_asked_of_the_catalog_where_every_word_is_read() {
        struct Read;
        impl KnownWords for Read {
            fn reads(&self, _: &str) -> bool {
                true
            }
            fn searched(&self) -> &[(Box<str>, u32)] {
                panic!("the words of the catalog are made when they are first asked for")
            }
        }
        assert_eq!(without_typos("delte the brnach", &Read), "delte the brnach");
    }

    proptest::proptest! {
        #[test]
        fn what_was_read_is_read_as_it_is(text in "(delte |brnach|the |Creat |'|\"|`|\\.|[a-z]{3,9} |\\PC){0,14}") {
            let once = read(&text).into_owned();
            proptest::prop_assert_eq!(read(&once), once.as_str());
        }

        #[test]
        fn one_slip_in_a_long_word_is_mended(at in 1usize..8, kind in 0u8..2) {
            let mut word: Vec<u8> = b"repository".to_vec();
            match kind {
                0 => word.swap(at, at + 1),
                _ => drop(word.remove(at)),
            }
            let word = String::from_utf8(word).unwrap();
            proptest::prop_assert_eq!(read(&word), "repository");
        }

        #[test]
        fn only_words_change(text in "\\PC{0,80}") {
            let signs = |text: &str| text.chars().filter(|c| !c.is_ascii_alphabetic()).collect::<String>();
            proptest::prop_assert_eq!(signs(&read(&text)), signs(&text));
        }
    }
}
