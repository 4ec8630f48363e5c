//! Whether a prompt in Latin letters is in another language than English.

/// Words that hardly a sentence of their language does without, and no English one has.
const WORDS: &str = "aber alle alles auf avec bitte con das dem den der des die dies eine einem einen einer este est \
    faire fur het ich ist las les los mein meine meinen mich mir mit mon mostrar nach nicht nous oder para por que \
    qui quiero sind sur todas todos tous toutes una und une uno van voor von vous welche wie wir zeig zeige zum zur \
    crear borrar buscar del della di de du el gli il la le";

/// Those of them that English has as well, if seldom: alone they say nothing.
const ENGLISH_TOO: &str = "con den die est fur mon van";

fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known.eq_ignore_ascii_case(word))
}

fn letters(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphabetic())
}

/// How many of a text's words are such as no English sentence has. What is in capitals is a name (`LA`).
pub(super) fn foreign_words(text: &str) -> usize {
    let words = letters(text).filter(|word| word.len() > 1);
    let words = words.filter(|word| !word.bytes().all(|byte| byte.is_ascii_uppercase()));
    words.filter(|word| is_in(WORDS, word)).count()
}

/// Whether a text in Latin letters is in another language than English: it has two words that only
/// others have, or one among three words, or one beside a letter with an accent. A language that
/// was not thought of is taken for English.
///
/// ```
/// use toolroute_rank::query::is_foreign;
///
/// assert!(is_foreign("cierra la puerta"));
/// assert!(is_foreign("lösche den Snapshot von gestern"));
/// assert!(!is_foreign("book a table at La Boca for Zoë"));
/// ```
pub fn is_foreign(text: &str) -> bool {
    let words = text.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).count();
    let is_accented = |c: char| c.is_alphabetic() && !c.is_ascii();
    match foreign_words(text) {
        0 => false,
        // One is a family's or a city's name as well: `van Gogh`, `Los Angeles`.
        1 if text.chars().any(is_accented) => words <= SHORT,
        1 => words <= 3 && !letters(text).any(|word| is_in(ENGLISH_TOO, word)),
        _ => true,
    }
}

/// Words of a short prompt.
const SHORT: usize = 6;

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
            "borra el correo de la lotería",
            "mir ist kalt",
            "crea una incidencia: el botón de pagar no funciona en Safari",
        ] {
            assert!(is_foreign(text), "{text}");
        }
        for text in [
            "list all instances",
            "flights to LA, the LA office",
            "who painted this van Gogh picture",
            "book a café in Los Angeles for the whole team",
            "comment on issue 42",
            "pour coffee",
            "rent a van",
            "den lights off",
            "",
            "4711",
            "删除分支",
        ] {
            assert!(!is_foreign(text), "{text}");
        }
    }
}
