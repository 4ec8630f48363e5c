//! Detects in which script and language a prompt is written.

use std::borrow::Cow;

use super::is_listed;
use super::requests::content_words;
use toolroute_translation::{Language, unsupported_words};

/// The share of Latin letters among a text's letters: 1 for English, 0 for Chinese or Hebrew, and 1 for
/// a text without letters.
///
/// An encoder with an English vocabulary reads other scripts letter by letter, so its vectors say
/// little about their meaning.
pub fn latin_share(text: &str) -> f32 {
    let (mut latin, mut all) = (0u32, 0u32);
    for letter in text.chars().filter(|letter| letter.is_alphabetic()) {
        all += 1;
        latin += u32::from(is_latin(letter));
    }
    if all == 0 { 1.0 } else { latin as f32 / all as f32 }
}

/// Returns the text without its non-Latin letters, which are noise to an encoder with an English
/// vocabulary. Returns it unchanged if the Latin part says too little.
pub fn latin_part(text: &str) -> Cow<'_, str> {
    let is_other = |letter: char| letter.is_alphabetic() && !is_latin(letter);
    if !text.contains(is_other) {
        return Cow::Borrowed(text);
    }
    let parts = text.split(is_other).flat_map(str::split_whitespace);
    let parts = parts.filter(|part| part.contains(char::is_alphanumeric));
    let latin = parts.collect::<Vec<_>>().join(" ");
    // Numbers and the separators within names carry no meaning.
    let words = latin.replace(|c: char| !c.is_alphabetic(), " ");
    if content_words(&words) >= LEAST_LATIN_WORDS { Cow::Owned(latin) } else { Cow::Borrowed(text) }
}

/// Minimum number of content words in a Latin part. A single word is mostly a name, which does not
/// say what to do.
const LEAST_LATIN_WORDS: usize = 2;

/// The letters of the Unicode blocks Basic Latin to Latin Extended-B and Latin Extended Additional.
fn is_latin(letter: char) -> bool {
    matches!(letter, '\0'..='\u{24F}' | '\u{1E00}'..='\u{1EFF}')
}

/// Frequent words of other European languages that English sentences lack.
const FOREIGN: &str = "aber alle alles auf avec bitte con das dem den der des die dies eine einem einen einer este est \
    faire fur het ich ist las les los mein meine meinen mich mir mit mon mostrar nach nicht nous oder para por que \
    qui quiero sind sur todas todos tous toutes una und une uno van voor von vous welche wie wir zeig zeige zum zur \
    crear borrar buscar del della di de du el gli il la le";

fn letters(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphabetic())
}

/// The number of foreign words in a text. A word in capitals is a name (`LA`) and does not count.
pub(super) fn foreign_words(text: &str) -> usize {
    let words = letters(text).filter(|word| word.len() > 1);
    let words = words.filter(|word| !word.bytes().all(|byte| byte.is_ascii_uppercase()));
    words.filter(|word| is_listed(FOREIGN, word)).count()
}

/// Whether a text in Latin letters is in another language than English, by other words than those of
/// tools.
pub fn is_foreign(text: &str, is_tool_word: &dyn Fn(&str) -> bool) -> bool {
    let words = match Language::of(text) {
        Some(language) => language.words_in(text),
        None => unsupported_words(text),
    };
    is_told_by(&words, is_tool_word)
}

/// Whether the words that tell another language do so: one of them at least is no English word of the tools, as
/// `rota` is beside a tool `show_rota`.
pub(super) fn is_told_by(words: &[String], is_tool_word: &dyn Fn(&str) -> bool) -> bool {
    words.iter().any(|word| !is_tool_word(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_languages_are_told_by_their_little_words() {
        for text in [
            "zeig mir alle virtuellen Maschinen",
            "crée un bucket pour les sauvegardes",
            "muéstrame las redes",
            "anular el pedido 8831",
            "cierra la puerta",
            "lösche den Snapshot von gestern",
            "borra el correo de la lotería",
            "mir ist kalt",
            "crea una incidencia: el botón de pagar no funciona en Safari",
        ] {
            assert!(is_foreign(text, &|_| false), "{text}");
        }
        for text in [
            "list all instances",
            "flights to LA, the LA office",
            "who painted this van Gogh picture",
            "book a café in Los Angeles for the whole team",
            "comment on issue 42",
            "pour coffee",
            "book a table at La Boca for Zoë",
            "rent a van",
            "den lights off",
            "",
            "4711",
            "删除分支",
        ] {
            assert!(!is_foreign(text, &|_| false), "{text}");
        }
    }

    #[test]
    fn scripts_are_told_apart() {
        for (text, share) in [
            ("book a table", 1.0),
            ("réserver une table à Łódź", 1.0),
            ("预订餐厅", 0.0),
            ("הזמן שולחן", 0.0),
            ("12:30 !!", 1.0),
            ("", 1.0),
        ] {
            assert_eq!(latin_share(text), share, "{text}");
        }
        let mixed = latin_share("用 GitHub 创建");
        assert!((0.5..0.8).contains(&mixed), "{mixed}");
    }

    #[test]
    fn the_latin_part_is_taken_where_it_says_enough() {
        for (text, part) in [
            ("在 jira 里创建一个 bug: 登录失败", "jira bug:"),
            ("请用create_issue在 GitHub", "create_issue GitHub"),
            ("请 create issue 在 GitHub", "create issue GitHub"),
            ("打开 GitHub", "打开 GitHub"),
            ("réserver une table", "réserver une table"),
            ("列出所有 bucket", "列出所有 bucket"),
            ("预订餐厅 12:30", "预订餐厅 12:30"),
            ("", ""),
        ] {
            assert_eq!(latin_part(text), part);
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_left_is_latin_or_the_whole(text in "([a-z]{1,5} |[а-я]{1,5} |漢字|\\PC){0,12}") {
            let part = latin_part(&text);
            proptest::prop_assert!(part == text || latin_share(&part) == 1.0);
        }
    }
}
