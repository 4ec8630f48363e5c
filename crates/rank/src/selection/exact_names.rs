//! Finds the tools that a prompt names exactly, whatever their descriptions contain.
//!
//! A name is recognised as the whole prompt ("please commit it" is no more than a name), behind the name of its
//! server at the beginning ("git commit -m fix"), as an identifier among the words, or between backticks. A plain
//! word such as "fetch" in a sentence is prose, and only its meaning counts. So is a phrase of plain words:
//! large catalogs contain tools called "Search by name" or "Weather forecast", and recognising such phrases
//! as names lowered nDCG@5 by 0.013 on one set (stabletoolbench, keyword strategy).

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use toolroute_vectors::index::is_unspaced;

/// The names and ids of all tools. A name that several servers use has the rows of all its tools.
#[derive(Default)]
pub(super) struct ExactNames {
    /// Names and ids in lower case.
    whole: NameRows,
    /// Names of several words, without separators: `createissue` for `create_issue`.
    folded: NameRows,
    /// The length of the longest name in bytes. Longer texts need no lookup.
    longest: usize,
}

/// Names with their rows: hashes of the names, sorted, because texts would take ten times the
/// memory. Among 200,000 names, a text has the hash of another one with a probability of 10^-14.
#[derive(Default)]
struct NameRows(Vec<(u64, u32)>);

impl NameRows {
    /// Returns the entries of a name; empty if no tool has it.
    fn get(&self, name: &str) -> &[(u64, u32)] {
        let hash = hash(name);
        let first = self.0.partition_point(|(other, _)| *other < hash);
        let count = self.0[first..].iter().take_while(|(other, _)| *other == hash).count();
        &self.0[first..first + count]
    }

    /// Sorts the entries, and removes those that are there twice.
    fn finish(&mut self) {
        self.0.sort_unstable();
        self.0.dedup();
        self.0.shrink_to_fit();
    }
}

fn hash(name: &str) -> u64 {
    // Its keys are constant.
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

/// Words that say nothing beside a tool's name.
const EMPTY_WORDS: &str = "a an call do it make me my now please run that the them this use";

impl ExactNames {
    /// Indexes the names. `names` yields names and ids with their rows.
    pub fn new<S: AsRef<str>>(names: impl Iterator<Item = (u32, S)>) -> Self {
        let mut all = Self::default();
        for (row, name) in names {
            all.add(row, name.as_ref());
        }
        all.whole.finish();
        all.folded.finish();
        all
    }

    fn add(&mut self, row: u32, name: &str) {
        let lower = name.to_lowercase();
        self.longest = self.longest.max(lower.len());
        // Users copy ids, but vary the spelling of names.
        let is_id = name.contains("__") || name.contains(':');
        if let (false, Some(folded)) = (is_id, folded(name)) {
            self.folded.0.push((hash(&folded), row));
        }
        self.whole.0.push((hash(&lower), row));
    }

    /// Returns the entries of a name in camel case or with `_` whose words the tool joins in another
    /// way: `createIssue` for `create_issue`. A hyphen does not count, because prose contains
    /// hyphens (`check-in`).
    fn folded(&self, name: &str) -> &[(u64, u32)] {
        let is_sure = name.contains('_') || is_camel_case(name);
        folded(name).filter(|_| is_sure).map_or(&[], |name| self.folded.get(&name))
    }

    /// Returns the rows that the prompt names, ascending.
    pub fn find(&self, prompt: &str) -> Vec<u32> {
        let mut search = Search { names: self, found: Vec::new() };
        search.take(prompt.trim().trim_matches(is_quote));
        search.order(prompt);
        prompt.split_whitespace().for_each(|word| search.word(word));
        prompt.split('`').skip(1).step_by(2).for_each(|quoted| {
            search.take(quoted.trim());
        });
        search.into_rows()
    }
}

/// The search through one prompt.
struct Search<'a> {
    names: &'a ExactNames,
    /// The entries of each name that was found.
    found: Vec<&'a [(u64, u32)]>,
}

impl Search<'_> {
    fn take(&mut self, name: &str) -> bool {
        // Lower-casing keeps at least a third of the bytes of a text.
        if name.is_empty() || name.len() > self.names.longest * 3 {
            return false;
        }
        let mut entries = self.names.whole.get(&name.to_lowercase());
        if entries.is_empty() {
            entries = self.names.folded(name);
        }
        let is_name = !entries.is_empty();
        if is_name {
            self.found.push(entries);
        }
        is_name
    }

    /// Looks up the only word of an order besides those that say nothing, and the first two words as a
    /// server and its tool.
    fn order(&mut self, prompt: &str) {
        let is_edge = |c: char| is_quote(c) && c != '`' || matches!(c, '.' | ',' | '!' | '?' | ';');
        let words = || prompt.split_whitespace().map(|word| word.trim_matches(is_edge));
        if let (Some(server), Some(tool)) = (words().next(), words().nth(1)) {
            // The whole id: "help me" is no order for `help_me`. Many servers begin all names with their own:
            // `git__git_commit`.
            for id in [format!("{server}__{tool}"), format!("{server}__{server}_{tool}")] {
                let entries = self.names.whole.get(&id.to_lowercase());
                self.found.extend((!entries.is_empty()).then_some(entries));
            }
        }
        let is_empty =
            |word: &&str| EMPTY_WORDS.split(' ').any(|known| known.eq_ignore_ascii_case(word));
        let mut rest = words().filter(|word| !word.is_empty() && !is_empty(word));
        if let (Some(only), None) = (rest.next(), rest.next()) {
            self.take(only);
        }
    }

    /// Looks up a text, or else the text without surrounding punctuation. Returns whether it is a
    /// name.
    fn identifier(&mut self, text: &str, quoted: bool) -> bool {
        let inner = text.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
        let bare = inner.trim_matches('_');
        let mut is_name = |name| (quoted || is_identifier(name)) && self.take(name);
        is_name(text) || is_name(inner) || is_name(bare)
    }

    /// Finds the longest names in a word: the whole word, then the parts between characters that
    /// are rare in names (`read_file(path)`), then the parts between characters that join names
    /// (`read_file/ls`).
    fn word(&mut self, word: &str) {
        let quoted = word.contains('`');
        if !quoted && !is_identifier(word) {
            return;
        }
        if self.identifier(word.trim_matches(is_quote), quoted) {
            return;
        }
        for part in word.split(|c| !is_name_character(c)) {
            if !self.identifier(part, quoted) && part.contains(['/', ':', '.']) {
                for part in part.split(['/', ':', '.']) {
                    self.identifier(part, quoted);
                }
            }
        }
    }

    fn into_rows(mut self) -> Vec<u32> {
        // A prompt may repeat a name many times; its rows are added once.
        self.found.sort_unstable_by_key(|entries| entries.as_ptr());
        self.found.dedup_by_key(|entries| entries.as_ptr());
        let mut rows: Vec<u32> = self.found.into_iter().flatten().map(|(_, row)| *row).collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }
}

/// Returns a name in lower case without separators; `None` for a single word.
fn folded(name: &str) -> Option<String> {
    let name = name.trim_matches('_');
    let is_separator = |c| matches!(c, '_' | '-');
    if !name.contains(is_separator) && !is_camel_case(name) {
        return None;
    }
    Some(name.replace(is_separator, "").to_lowercase())
}

fn is_camel_case(name: &str) -> bool {
    name.chars().zip(name.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase())
}

fn is_quote(c: char) -> bool {
    matches!(c, '`' | '"' | '\'' | '“' | '”' | '‘' | '’' | '«' | '»')
}

/// Whether a text looks like an identifier: with a separator (`read_file`, `fs:read`, `git.log`) or
/// in camel case (`EvalMath`).
fn is_identifier(text: &str) -> bool {
    let mut previous = '\0';
    let (mut joined, mut named) = (false, false);
    for character in text.chars() {
        joined |= is_separator(character) || (previous.is_lowercase() && character.is_uppercase());
        named |= character.is_alphanumeric();
        previous = character;
    }
    joined && named
}

fn is_separator(c: char) -> bool {
    matches!(c, '_' | ':' | '.' | '/' | '-')
}

/// Whether a character can be part of a name. Letters of a script without spaces cannot, so they
/// delimit a name in other letters: `请用read_file读取`.
fn is_name_character(c: char) -> bool {
    is_separator(c) || (c.is_alphanumeric() && !is_unspaced(c))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const NAMES: [(u32, &str); 15] = [
        (0, "read_file"),
        (0, "fs__read_file"),
        (0, "fs:read_file"),
        (1, "read_file"),
        (2, "fetch"),
        (3, "EvalMath"),
        (4, "_private_tool"),
        (5, "do_it_"),
        (6, "Songkick concert"),
        (6, "music__Songkick concert"),
        (7, "查询天气"),
        (8, "To do"),
        (9, "+"),
        (10, "Chemical Engineering/Forensic"),
        (11, "ls"),
    ];

    fn find(prompt: &str) -> Vec<u32> {
        ExactNames::new(NAMES.into_iter()).find(prompt)
    }

    const NONE: [u32; 0] = [];

    #[test]
    fn a_name_finds_every_tool_that_bears_it() {
        assert_eq!(find("read_file"), [0, 1]);
        assert_eq!(find("please call Read_File, now"), [0, 1]);
        assert_eq!(find("use fs__read_file."), [0]);
        assert_eq!(find("what does evalmath do"), NONE);
        assert_eq!(find("what does EvalMath do?"), [3]);
    }

    #[test]
    fn a_name_is_found_however_its_words_are_joined() {
        let names = [
            (0, "create_issue"),
            (1, "deletePage"),
            (2, "git-log"),
            (3, "email"),
            (4, "fs__read_file"),
        ];
        let find = |prompt: &str| ExactNames::new(names.into_iter()).find(prompt);
        assert_eq!(find("please createIssue for it"), [0]);
        assert_eq!(find("call CreateIssue(title)"), [0]);
        assert_eq!(find("delete_page it is"), [1]);
        assert_eq!(find("git_log"), [2]);
        assert_eq!(find("send an e-mail, create-issue is prose"), NONE);
    }

    #[test]
    fn a_plain_word_in_a_sentence_is_prose() {
        assert_eq!(find("fetch my dog"), NONE);
        assert_eq!(find("fetch"), [2]);
        assert_eq!(find("run `fetch` on it"), [2]);
        assert_eq!(find("what is 1 + 1 - 2"), NONE);
        assert_eq!(find("+"), [9]);
        assert_eq!(find("what does `+` do"), [9]);
    }

    #[test]
    fn an_order_that_is_no_more_than_a_name_is_one() {
        let names =
            [(0, "commit"), (0, "git__commit"), (1, "show"), (1, "git__git_show"), (2, "help_me")];
        let find = |prompt: &str| ExactNames::new(names.into_iter()).find(prompt);
        for prompt in ["please commit", "Commit it.", "make a commit", "git commit -m 'x'"] {
            assert_eq!(find(prompt), [0], "{prompt}");
        }
        assert_eq!(find("git show HEAD~2"), [1]);
        assert_eq!(find("show the commit"), NONE);
        assert_eq!(find("how do I commit to git"), NONE);
        assert_eq!(find("help me find it"), NONE);
        assert_eq!(find("it"), NONE);
    }

    #[test]
    fn underscores_at_the_ends_belong_to_the_name() {
        assert_eq!(find("run _private_tool."), [4]);
        assert_eq!(find("run (do_it_), please"), [5]);
        assert_eq!(find("run _read_file_ in italics"), [0, 1]);
        assert_eq!(find("_fetch_ my dog"), NONE);
    }

    #[test]
    fn a_name_is_found_among_characters_that_are_none_of_it() {
        for prompt in [
            "call read_file(path) now",
            "use read_file,ls",
            "use read_file/ls",
            "open it with functions.read_file",
            "tool:read_file",
            "read_file's output",
            "**read_file**[1]",
            "请用read_file读取文件",
        ] {
            assert_eq!(find(prompt), [0, 1], "{prompt}");
        }
        assert_eq!(find("use fs:read_file."), [0], "the id counts over the name in it");
        assert_eq!(find("run `read_file,ls`"), [0, 1, 11]);
    }

    #[test]
    fn a_name_of_several_words_is_found_alone_or_quoted_as_code() {
        assert_eq!(find("Songkick Concert"), [6]);
        assert_eq!(find("please run `songkick concert`, tonight"), [6]);
        assert_eq!(find("is there a songkick concert tonight?"), NONE);
        assert_eq!(find("things to do in Paris"), NONE);
        assert_eq!(find("to do"), [8]);
    }

    #[test]
    fn long_prompts_take_linear_time() {
        let names = ExactNames::new(NAMES.into_iter());
        for unit in ["a/", "read_file,", "a.b:", "songkick ", "查询天", "`", "'", "_", "read_file "]
        {
            let prompt = unit.repeat(300_000 / unit.len());
            let start = Instant::now();
            names.find(&prompt);
            // A quadratic search would take minutes.
            assert!(start.elapsed().as_secs() < 60, "{unit}: {:?}", start.elapsed());
        }
    }
}
