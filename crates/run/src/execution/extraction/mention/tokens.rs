//! Values that are recognised by their form: addresses, sizes, paths, ids, codes and places.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::super::country;
use super::super::text::{is_listed, regex, without_possessive};
use super::super::unit::Unit;
use super::{Content, Mention};

/// Extensions of file names, without `com`, `org` and `io`, which are mostly domains.
const EXTENSIONS: &str = "avi bak bash bmp c cc cfg class conf config cpp cs css csv cxx dat db doc docx env epub \
     exe flac gif go gradle gz h heic hpp htm html ics ini ipynb jar java jpeg jpg js json \
     jsonl jsx key kt lock log lua m4a md mjs mkv mov mp3 mp4 mpg odp ods odt ogg parquet pdf \
     pem php pl png ppt pptx proto ps1 psd py r rar rb rs rst rtf scala scss sh sql sqlite \
     srt svg swift tar tex tgz tif tiff toml ts tsv tsx txt vtt vue wav webm webp xls xlsx \
     xml xz yaml yml zip zst";

/// Names of files without an extension.
const BARE_FILES: [&str; 5] = ["Makefile", "Dockerfile", "README", "LICENSE", "Gemfile"];

/// Pairs of words with a slash between them that are not paths.
const PAIRS: &str = "and/or he/she his/her him/her yes/no true/false on/off read/write input/output w/o n/a \
     either/or pros/cons client/server am/pm km/h m/s tcp/ip";

/// IPv4 addresses and blocks of them.
pub(super) static ADDRESS: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\b(?:\d{1,3}\.){3}\d{1,3}\b(?:/\d{1,2}\b)?"));

/// A width with a height: "800x600".
pub(super) static SIZE: LazyLock<Regex> = LazyLock::new(|| regex(r"\b\d{1,5}\s?[x×]\s?\d{1,5}\b"));

/// Ids that are written in groups: IBANs, numbers of cards, international telephone numbers.
static GROUPED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?x)\b[A-Z]{2}\d{2}(?:\x20[0-9A-Z]{4}){2,7}(?:\x20[0-9A-Z]{1,3})?\b
        | \b\d{4}(?:[\x20-]\d{4}){3}\b
        | \+\d{1,3}(?:[\x20/-]?\(?\d{2,}\)?)+
        | \b0\d{2,5}(?:[\x20/-]\d{3,8}){1,3}\b
        | \b0\d(?:[\x20.-]\d{2}){4}\b
        | (?:\b|\()\d{3}(?:\)\x20?|-)\d{3}-\d{4}\b",
    )
});

/// Finds ids in groups. Their spaces are no part of them, unless it is a national telephone number: "052-555-0143",
/// "06 55 50 12 34", "(415) 555-0132".
pub(super) fn grouped(text: &str) -> Vec<Mention> {
    let mut found = matches(&GROUPED, text);
    // A part of a longer number is none.
    found.retain(|mention| {
        let is_joint = |c: char| c.is_alphanumeric() || "-_#/".contains(c);
        let before = text[..mention.span.start].chars().next_back();
        let after = text[mention.span.end..].chars().next();
        !before.is_some_and(is_joint) && !after.is_some_and(is_joint)
    });
    // "+150" is a number.
    found.retain(|mention| mention.span.len() > 7);
    found
}

/// Finds the matches of a pattern, as tokens.
pub(super) fn matches(pattern: &Regex, text: &str) -> Vec<Mention> {
    let token = |found: regex::Match<'_>| {
        let said = found.as_str();
        let is_national = said.starts_with(['0', '(']);
        let kept = |c: &char| is_national || !c.is_whitespace();
        Mention {
            span: found.range(),
            content: Content::Token(said.chars().filter(kept).collect()),
        }
    };
    pattern.find_iter(text).map(token).collect()
}

/// Returns the ranges of the words between spaces, without the punctuation around them.
fn spaced(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    text.split_whitespace().map(|word| {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        let opened = word.trim_start_matches(['(', '[', '{', '<', '"', '“', '\'', ',', ';', ':']);
        let start = start + word.len() - opened.len();
        let closed = opened
            .trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '>', '"', '”', '…']);
        let closed = without_possessive(closed.trim_end_matches(['\'', '’']));
        start..start + closed.len()
    })
}

/// Finds the words that have a form, as contents of one kind.
fn formed(text: &str, has_form: fn(&str) -> bool, content: fn(String) -> Content) -> Vec<Mention> {
    let spans = spaced(text).filter(|span| has_form(&text[span.clone()]));
    spans.map(|span| Mention { content: content(text[span.clone()].to_owned()), span }).collect()
}

pub(super) fn paths(text: &str) -> Vec<Mention> {
    formed(text, is_path, Content::Path)
}

/// Whether a word has the form of a path: it has a root or folders, or is the name of a known file
/// or type of file.
pub(crate) fn is_path(word: &str) -> bool {
    let is_drive = |word: &str| {
        let bytes = word.as_bytes();
        bytes.len() > 2
            && bytes[0].is_ascii_alphabetic()
            && bytes[1] == b':'
            && b"\\/".contains(&bytes[2])
    };
    if word == "/" || word == "~" || is_drive(word) || word.starts_with("\\\\") {
        return true;
    }
    if word.contains("://") || word.contains("//") || is_listed(&word.to_lowercase(), PAIRS) {
        return false;
    }
    let rooted = ["/", "~/", "./", "../"].iter().any(|root| word.starts_with(root));
    let is_part = |c: char| c.is_alphanumeric() || "._-+@~#%=/".contains(c);
    if rooted {
        return word.chars().any(char::is_alphanumeric) || word.starts_with('.');
    }
    if !word.chars().all(is_part) || !word.chars().any(char::is_alphabetic) {
        return false;
    }
    let has_folders = word.trim_end_matches('/').contains('/') || word.ends_with('/');
    has_folders || is_file_name(word)
}

/// Whether a path is two names with one slash between them.
pub(crate) fn is_slug(path: &str) -> bool {
    path.starts_with(char::is_alphanumeric)
        && path.split_once('/').is_some_and(|(_, name)| !name.is_empty() && !name.contains('/'))
}

/// Whether a path has the form `owner/name`, and its name not that of a file.
pub(crate) fn is_repository(path: &str) -> bool {
    is_slug(path) && path.split_once('/').is_some_and(|(_, name)| !is_file_name(name))
}

fn is_file_name(word: &str) -> bool {
    if BARE_FILES.contains(&word) {
        return true;
    }
    let Some((stem, ending)) = word.rsplit_once('.') else { return false };
    let is_hidden =
        stem.is_empty() && ending.len() > 2 && ending.starts_with(|c: char| c.is_lowercase());
    let is_known = is_listed(&ending.to_lowercase(), EXTENSIONS);
    is_hidden || (is_known && stem.chars().any(char::is_alphanumeric))
}

/// Finds words with digits, signs or capitals where words of prose have none.
///
/// A capital within a word before another name is none: "LeBron James".
pub(super) fn ids(text: &str) -> Vec<Mention> {
    let mut found = formed(text, is_made, Content::Token);
    let is_part_of_name = |mention: &Mention| {
        let word = &text[mention.span.clone()];
        let mut next = text[mention.span.end..].strip_prefix(' ').unwrap_or_default().chars();
        word.chars().all(char::is_alphabetic)
            && word.chars().any(char::is_lowercase)
            && next.next().is_some_and(char::is_uppercase)
            && next.next().is_some_and(char::is_lowercase)
    };
    found.retain(|mention| !is_part_of_name(mention));
    found
}

/// Whether a word has a form that only names in programs have: `wh_adhoc`, `raw.payments`, `churn-net`, an address of a
/// machine.
pub(crate) fn is_identifier(word: &str) -> bool {
    const PREFIXES: &str = "all anti co cross ex extra full half high long low mid multi non one post pre re real self semi short sub two un well";
    let is_part = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric());
    if ADDRESS.find(word).is_some_and(|address| address.len() == word.len()) {
        return true;
    }
    let parts: Vec<&str> = word.split(['_', '.', '-']).collect();
    // "U.S."
    let is_letter = |part: &&str| part.len() == 1 && part.chars().all(char::is_alphabetic);
    let is_made_up =
        parts.len() > 1 && parts.iter().all(|part| is_part(part)) && !parts.iter().all(is_letter);
    // "Gas-powered", "x-axis".
    let is_hyphenated = !word.contains(['_', '.'])
        && (parts.len() > 2
            || parts.iter().any(|part| part.len() < 2)
            || is_listed(&parts[0].to_lowercase(), PREFIXES)
            || ["ed", "ing", "like", "mail"].iter().any(|end| word.ends_with(end)));
    is_made_up && !is_hyphenated
}

fn is_made(word: &str) -> bool {
    let has = |test: fn(char) -> bool| word.chars().any(test);
    let is_part = |c: char| c.is_alphanumeric() || "_-.#@:+/*".contains(c);
    let starts = word.starts_with(|c: char| c.is_alphanumeric() || "#@*".contains(c));
    if !starts || !word.chars().all(is_part) || !has(char::is_alphabetic) {
        return false;
    }
    let tail = word.get(1..).unwrap_or_default();
    let mixed = has(|c| c.is_ascii_digit());
    let has_sign = word.contains(['_', '#', '@', '-', '.', '*']) && !word.contains("..");
    let has_inner_capital = has(char::is_lowercase) && tail.contains(|c: char| c.is_uppercase());
    let is_capitals = word.len() > 1 && !has(char::is_lowercase) && has(char::is_uppercase);
    mixed || has_sign || has_inner_capital || is_capitals
}

static CERTAIN_ID: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?x)^(?:
            [0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}
          | [A-Z][A-Z0-9]{0,9}(?:-\d+)+
          | [a-z]{2,8}_[A-Za-z0-9]*\d[A-Za-z0-9]*
        )$",
    )
});

/// Whether a word is certainly an id, whatever the words beside it.
pub(crate) fn is_certain_id(word: &str) -> bool {
    let is_hash = (7..=64).contains(&word.len())
        && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_serial = (8..=40).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        && word.bytes().filter(u8::is_ascii_digit).count() >= 2
        && word.bytes().any(|byte| byte.is_ascii_uppercase());
    is_hash || is_serial || CERTAIN_ID.is_match(word)
}

/// A postcode of the United Kingdom.
const POSTCODE: &str = r"[A-Z]{1,2}\d[A-Z\d]?\s\d[A-Z]{2}";

static STREET: LazyLock<Regex> = LazyLock::new(|| {
    let name = r"\p{Lu}[\p{L}.'’-]+";
    let names = format!(r"{name}(?:\s(?:(?:am|an|de|den|der|des|du|la|of|the|zum|zur)\s)*{name})*");
    let british = format!(r"{name}(?:\s{name})*?\s{POSTCODE}\b");
    let town = format!(r"(?:,\s*(?:{british}|(?:\d{{4,5}}\s+)?{names}(?:\s\d{{5}}\b)?))?");
    regex(&format!(
        r"(?:\b(?:[Aa]t|[Tt]o|[Ff]rom|[Nn]ear|[Oo]f|[Ii]s|[Aa]ddress)|:)\s+(?P<street>(?:{names}\s\d{{1,4}}[a-z]?\b|\d{{1,5}}\s{names}){town})"
    ))
});

/// Finds streets with a number after a preposition, with the town after a comma: "at Hafenstraße 12,
/// 20457 Hamburg", "to 12 Main Street, Springfield".
pub(super) fn streets(text: &str) -> Vec<Mention> {
    let found = STREET.captures_iter(text).filter_map(|groups| groups.name("street"));
    let mention = |street: regex::Match<'_>| {
        let said = street.as_str().trim_end_matches(['.', '-', '\'', '’']);
        let span = street.start()..street.start() + said.len();
        Mention { content: Content::Address(said.to_owned()), span }
    };
    found.map(mention).collect()
}

static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?x)\b(?:[Ii]n|[Ff]or|[Ff]rom|[Tt]o|[Aa]t|[Nn]ear|[Oo]f|[Aa]round|[Aa]nd|[Oo]r|,)\s+(?P<the>the\s+)?
        (?P<place>(?:St\.|Mt\.|Ft\.|(?:\p{Lu}\.){2,}|\p{Lu}[\p{L}'’-]+)(?:\s+(?:(?:de|del|la|le|los|las|of|am|an\sder)\s+)?(?:(?:\p{Lu}\.){2,}|\p{Lu}[\p{L}'’-]+))*)",
    )
});

/// Finds capitalised words after a preposition, a conjunction or a comma. Only the parameter
/// determines whether they are a place.
///
/// A region or a country after the comma belongs to the place, unless regions are values by themselves.
pub(super) fn places(text: &str, has_regions: bool) -> Vec<Mention> {
    let mut mentions: Vec<Mention> = Vec::new();
    let mut from = 0;
    while let Some(groups) = PLACE.captures_at(text, from) {
        let Some(place) = groups.name("place") else { break };
        let said = place.as_str().trim_end_matches(['-', '\'', '’']);
        let said = without_possessive(said);
        let end = end_of_place(text, place.start() + said.len());
        let said = &text[place.start()..end];
        from = place.end().max(end);
        // Only a country has an article: "in the Netherlands".
        if groups.name("the").is_some() && country::code(said).is_none() {
            continue;
        }
        // "In Celsius" and "in Joules" say no place.
        if !Unit::meanings_of(said).is_empty() {
            continue;
        }
        let span = place.start()..place.start() + said.len();
        match mentions.last_mut() {
            Some(Mention { span: city, content })
                if !has_regions && joins_region(text, city.end, &span) =>
            {
                city.end = span.end;
                *content = Content::Place(text[city.clone()].to_owned());
            }
            _ => mentions.push(Mention { content: Content::Place(said.to_owned()), span }),
        }
    }
    mentions
}

/// Returns where the name of a place ends that goes on in lower case: "Hamburg central station".
pub(crate) fn end_of_place(text: &str, mut end: usize) -> usize {
    const NOUNS: &str = "airport bus central centre center harbour main old railway square station street town train \
         university";
    while let Some(rest) = text[end..].strip_prefix(' ') {
        let word = rest.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        if !is_listed(word, NOUNS) {
            break;
        }
        end += 1 + word.len();
    }
    end
}

/// Whether a name says where the place before it, which ends at `end`, is.
pub(crate) fn joins_region(text: &str, end: usize, name: &Range<usize>) -> bool {
    text.get(end..name.start) == Some(", ") && country::is_region(&text[name.clone()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_prose() {
        let paths = "/ /etc/hosts ~/a ../x C:\\a\\b notes.txt src/main.rs .gitignore src/ Makefile \
                     דוח.pdf a/b";
        for word in paths.split(' ') {
            assert!(is_path(word), "{word}");
        }
        let others = "and/or e.g example.org 24/7 1.5 https://a.b/c.txt v1.2 word .";
        for word in others.split(' ') {
            assert!(!is_path(word), "{word}");
        }
    }

    #[test]
    fn ids_are_told_from_words_and_amounts() {
        for word in "OPS-12 pay_8s v1.2.3 T-42 acme-inc USD #general camelCase AB12".split(' ') {
            assert!(is_made(word), "{word}");
        }
        for word in "hello Hello I 12".split(' ') {
            assert!(!is_made(word), "{word}");
        }
        for (word, certain) in [
            ("OPS-12", true),
            ("T-42", true),
            ("INV-2026-7", true),
            ("deadbeef1", true),
            ("covid-19", false),
            ("v1.2", false),
        ] {
            assert_eq!(is_certain_id(word), certain, "{word}");
        }
    }
}
