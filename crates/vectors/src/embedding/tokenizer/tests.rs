//! Compares our WordPiece with the `tokenizers` library.

use std::borrow::Cow;
use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::json;
use tokenizers::{Tokenizer, TruncationParams};

use super::{TextTokenizer, WordPiece};

/// A vocabulary with single letters, accents, other scripts, and word starts and continuations.
fn vocabulary() -> String {
    let mut tokens: Vec<String> =
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map(Into::into).into();
    let pieces = "a b c d e i n o r s t u é ß ø 中 文 天 気 あ い 가 á́ ª ˚ й и ї 1 2 9 ² ½ ﬁ fi";
    let words = "the weather send mail file get ing ed er un able token tokens naive cafe e mail i";
    for piece in pieces.split(' ').chain(words.split(' ')) {
        tokens.push(piece.to_owned());
        tokens.push(format!("##{piece}"));
    }
    tokens.extend(
        "! \" # $ % & ' ( ) * + , - . / : ; < = > ? @ [ \\ ] ^ _ ` { | } ~ — … 。 、 ## ###"
            .split(' ')
            .map(String::from),
    );
    tokens.join("\n") + "\n"
}

/// A library tokenizer with the settings of MiniLM's tokenizer.json and that vocabulary.
fn library(vocabulary: &str, max_tokens: usize) -> Tokenizer {
    let numbered: serde_json::Map<_, _> =
        vocabulary.lines().enumerate().map(|(at, token)| (token.to_owned(), at.into())).collect();
    let added = |(id, content): (usize, &str)| {
        json!({"id": id, "content": content, "special": true, "single_word": false,
               "lstrip": false, "rstrip": false, "normalized": false})
    };
    let special = |name: &str, id: u32| json!({"id": name, "ids": [id], "tokens": [name]});
    let part = |kind: &str, id: &str| json!({kind: {"id": id, "type_id": 0}});
    let parts =
        [part("SpecialToken", "[CLS]"), part("Sequence", "A"), part("SpecialToken", "[SEP]")];
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": vocabulary.lines().enumerate().take(5).map(added).collect::<Vec<_>>(),
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                       "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": parts, "pair": parts.clone(),
            "special_tokens": {"[CLS]": special("[CLS]", 2), "[SEP]": special("[SEP]", 3)}},
        "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": numbered},
    });
    let mut tokenizer = Tokenizer::from_bytes(tokenizer.to_string()).unwrap();
    let truncation = TruncationParams { max_length: max_tokens, ..Default::default() };
    tokenizer.with_truncation(Some(truncation)).unwrap();
    tokenizer
}

struct Both {
    ours: WordPiece,
    theirs: Tokenizer,
    short: Tokenizer,
}

const LONG: usize = 400;
const SHORT: usize = 7;

/// Both tokenizers for the small vocabulary and, if there is one, for the built-in model's.
static BOTH: LazyLock<Vec<Both>> = LazyLock::new(|| {
    let built_in = crate::embedding::ModelFiles::built_in(crate::embedding::DEFAULT_MODEL)
        .filter(|files| files.covers(super::VOCABULARY_FILE))
        .map(|files| files.read(super::VOCABULARY_FILE).unwrap().into_owned());
    let built_in = built_in.map(|bytes| arranged(&String::from_utf8(bytes).unwrap()));
    let both = |text: String| Both {
        theirs: library(&text, LONG),
        short: library(&text, SHORT),
        ours: WordPiece::new(Cow::Owned(text)).unwrap(),
    };
    [Some(vocabulary()), built_in].into_iter().flatten().map(both).collect()
});

/// Moves the special tokens to the front, where `library` expects them.
fn arranged(text: &str) -> String {
    let special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
    let others = text.lines().filter(|token| !special.contains(token));
    special.into_iter().chain(others).fold(String::new(), |text, token| text + token + "\n")
}

fn agree(text: &str) -> Result<(), TestCaseError> {
    for Both { ours, theirs, short } in BOTH.iter() {
        let ids = |tokenizer: &Tokenizer, special| {
            tokenizer.encode_fast(text, special).unwrap().get_ids().to_vec()
        };
        prop_assert_eq!(ours.with_special(text, LONG), ids(theirs, true), "{:?}", text);
        prop_assert_eq!(ours.with_special(text, SHORT), ids(short, true), "{:?}", text);
        prop_assert_eq!(ours.plain(text, LONG), ids(theirs, false), "{:?}", text);
    }
    Ok(())
}

#[test]
fn a_word_is_known_where_it_is_one_token() {
    let pieces = WordPiece::new(Cow::Owned(vocabulary())).unwrap();
    let library = TextTokenizer::Library(Box::new(library(&vocabulary(), 64)));
    for (word, known) in [("weather", true), ("getting", false), ("wether", false), ("", false)] {
        assert_eq!(pieces.knows(word), known, "{word}");
        assert_eq!(library.knows(word), known, "{word}");
    }
}

#[test]
fn known_corners_give_the_ids_of_the_library() {
    let long =
        ["a".repeat(99), "a".repeat(100), "a".repeat(101), "é".repeat(100), "中".repeat(101)];
    let texts = [
        "",
        " ",
        "\u{0}",
        "a\u{1}b",
        "a\u{b}b\u{c}c\u{85}d",
        "a\tb\nc\rd",
        "a\u{a0}b\u{3000}c",
        "\u{fffd}a",
        "Café CAFÉ cafe\u{301}",
        "天気 weather天気",
        "İstanbul ΑΣ ß ẞ",
        "e\u{301}\u{327}",
        " \u{301}a",
        "ﬁle ½²ª",
        "[CLS] the [SEP]",
        "[cls]",
        "[[MASK]]",
        "[MASK",
        "x[PAD]y",
        "##ing ###",
        "un##able",
        "don't e-mail!?…—。、",
        "가나 각",
        "й и\u{306} ї",
        "\u{200b}a\u{200d}b\u{ad}c",
        "👩‍👩‍👧 weather",
        "a\u{2028}b",
        "\u{1d165}\u{1d16d}a",
    ];
    for text in texts.into_iter().chain(long.iter().map(String::as_str)) {
        agree(text).unwrap();
    }
}

#[test]
fn a_vocabulary_that_cannot_be_one_is_refused() {
    let refused = |text: &str| WordPiece::new(text.to_owned().into()).unwrap_err();
    assert!(refused("").contains("[PAD]"));
    assert!(refused(&vocabulary().replace("[MASK]\n", "")).contains("[MASK]"));
    assert!(refused(&format!("a\n{}\n", "x".repeat(129))).contains("line 2"));
}

proptest! {
    #[test]
    fn any_text_gives_the_ids_of_the_library(text in any::<String>()) {
        agree(&text)?;
    }

    #[test]
    fn words_signs_and_scripts_give_the_ids_of_the_library(
        text in "([a-zA-Z0-9 éÉüñßøçåİ中文天気あいカ가각йїΑΣς.,!?'\"#_\\[\\]()/—…。、\u{301}\u{327}\u{200d}\t\n]|the|weather|tokens|\\[CLS\\]|\\[UNK\\]| ){0,40}"
    ) {
        agree(&text)?;
    }
}
