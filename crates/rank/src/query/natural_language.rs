//! Detects in which script and language a prompt is written.

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

/// The letters of the Unicode blocks Basic Latin to Latin Extended-B and Latin Extended Additional.
fn is_latin(letter: char) -> bool {
    matches!(letter, '\0'..='\u{24F}' | '\u{1E00}'..='\u{1EFF}')
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
}
