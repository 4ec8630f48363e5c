//! Words that forbid an action or make it conditional.

use super::Language;
use super::words::plain_words;

/// Words of one language that forbid or restrict, with the language that a text must be in for them to count; `None`
/// for words that no other language has.
const WORDS: [(Option<Language>, &str); 9] = [
    (
        None,
        "nicht kein keine keinen keiner keines niemals não nao nunca jamás jamais niet geen nooit tenzij zonder als \
         inte aldrig ikke nie jeśli",
    ),
    (
        Some(Language::German),
        "ohne außer wenn falls sobald bevor nachdem verboten vermeide vermeiden verhindere unterlass unterlasse wehe hör",
    ),
    (
        Some(Language::Spanish),
        "no sin excepto salvo si cuando jamas prohibido evita evite evitar abstente",
    ),
    (Some(Language::Portuguese), "sem exceto se quando proibido evite evita evitar"),
    (
        Some(Language::French),
        "ne n pas sans sauf si quand évite évitez éviter interdit abstiens abstenez",
    ),
    (
        Some(Language::Russian),
        "не никогда нельзя без если когда кроме запрещено запрещается перестань избегай воздержись",
    ),
    (Some(Language::Hebrew), "אל לא בלי אם כאשר כש חוץ שלא ולא ואל אסור תימנע הימנע"),
    (Some(Language::Arabic), "لا لم لن بدون دون إذا اذا عندما إلا ولا ممنوع تجنب"),
    (Some(Language::Chinese), "不 别 勿 没 除了 如果 不要 严禁 禁止 避免"),
];

/// "Do not" in Hebrew, before a verb in the second person, and "to" before everything else.
const NOT_OR_TO: &str = "אל";

/// Whether a word is Hebrew for "do not", by the word after it.
pub(super) fn is_do_not(word: &str, next: Option<&str>) -> bool {
    word == NOT_OR_TO && next.is_some_and(|next| next.starts_with('ת'))
}

/// Returns the first word by which a text in another language than English forbids an action or makes it conditional;
/// `None` for a plain order and for English.
///
/// ```
/// use toolroute_translation::restriction;
///
/// assert_eq!(restriction("no borres el archivo").as_deref(), Some("no"));
/// assert_eq!(restriction("Lösche nicht die Datei").as_deref(), Some("nicht"));
/// assert_eq!(restriction("borra el archivo"), None);
/// assert_eq!(restriction("delete order no 5"), None);
/// ```
pub fn restriction(text: &str) -> Option<String> {
    let language = Language::of(text);
    let counts = |of: &Option<Language>| of.is_none() || *of == language;
    let listed: Vec<&str> = WORDS
        .iter()
        .filter(|(of, _)| counts(of))
        .flat_map(|(_, words)| words.split_whitespace())
        .collect();
    if language == Some(Language::Chinese) {
        // Chinese writes no spaces.
        return listed.into_iter().find(|word| text.contains(word)).map(str::to_owned);
    }
    let words: Vec<String> = plain_words(text).collect();
    let counts = |at: &usize| {
        let (word, next) = (words[*at].as_str(), words.get(at + 1).map(String::as_str));
        listed.contains(&word) && (word != NOT_OR_TO || is_do_not(word, next))
    };
    (0..words.len()).find(counts).map(|at| words[at].clone())
}
