use proptest::prelude::*;

use super::*;

fn query(text: &str) -> Vec<String> {
    query_terms(text).into_iter().map(|term| term.text).collect()
}

fn document(text: &str) -> Vec<String> {
    terms(text, Side::Document).into_iter().map(|term| term.text).collect()
}

/// The terms that count towards the length of a document.
fn counted(text: &str) -> Vec<String> {
    terms(text, Side::Document)
        .into_iter()
        .filter(|term| !term.extra)
        .map(|term| term.text)
        .collect()
}

#[test]
fn identifiers_fall_apart_and_stay_whole() {
    assert_eq!(counted("readFile"), ["read", "file"]);
    assert_eq!(document("readFile"), ["read", "file", "readfil"]);
    assert_eq!(counted("HTTPServer"), ["http", "server"]);
    assert_eq!(
        counted("list_open-issues.v2/all:now"),
        ["list", "open", "issu", "v2", "all", "now"]
    );
    assert_eq!(query("GitHub")[2], query("github")[0]);
    assert_eq!(counted("ÜberFlug"), ["uber", "flug"]);
}

#[test]
fn digits_stay_with_the_letters_before_them() {
    assert_eq!(counted("s3Bucket EC2Instance utf8"), ["s3", "bucket", "ec2", "instanc", "utf8"]);
    assert!(document("S3").contains(&"s3".to_owned()));
    assert!(document("s3_upload").contains(&"s3".to_owned()));
    assert!(document("3D").contains(&"3d".to_owned()), "whole, though it has a hump");
}

#[test]
fn english_words_are_stemmed_and_apostrophes_vanish() {
    assert_eq!(query("searching searches searched"), ["search", "search", "search"]);
    assert_eq!(query("the user’s 'quoted' files"), ["user", "quot", "file"]);
    assert_eq!(query("don't restart"), ["restart"]);
    assert_eq!(query("l'avion"), ["l", "avion"]);
}

#[test]
fn a_long_run_of_possessives_does_not_exhaust_the_stack() {
    assert_eq!(query(&format!("dog{}", "'s".repeat(1_000_000))), ["dog"]);
    assert_eq!(query(&format!("dog{}", "''s".repeat(1_000_000))), ["dog"]);
    assert_eq!(query("the dog's's don't's"), ["dog"]);
    assert_eq!(query(&"'t".repeat(300_000)).len(), 1);
    assert_eq!(query(&"x'y".repeat(300_000)).len(), 300_001);
}

#[test]
fn words_of_many_scripts_match_however_they_are_typed() {
    for (typed, written) in [
        ("שלום", "שָׁלוֹם"),
        ("צ'אט", "צ׳אט"),
        ("مرحبا", "مَرْحَبًا"),
        ("елка", "Ёлка"),
        ("καιρος", "Καιρός"),
        ("zurich", "Zürich"),
        ("ﬁle", "file"),
        ("ＡＰＩ", "api"),
        ("मौसम", "मौसम"),
    ] {
        assert_eq!(query(typed), query(written), "{typed} and {written}");
        assert_eq!(query(typed).len(), 1, "{typed} is one word");
    }
}

#[test]
fn scripts_without_spaces_become_pairs() {
    assert_eq!(query("天気予報"), ["天気", "気予", "予報"]);
    assert_eq!(query("カレンダー"), ["カレ", "レン", "ンダ", "ダー"]);
    assert_eq!(query("날씨를"), ["날씨", "씨를"]);
    assert_eq!(query("อากาศ"), ["อา", "าก", "กา", "าศ"]);
    assert_eq!(counted("GPUの温度"), ["gpu", "の温", "温度"]);
}

#[test]
fn one_character_finds_documents_that_have_it() {
    assert_eq!(query("猫"), ["猫"]);
    assert!(document("黒猫写真").contains(&"猫".to_owned()));
    assert_eq!(counted("黒猫写真").len(), 3, "single characters do not lengthen a document");
}

#[test]
fn stop_words_go_unless_nothing_else_is_left() {
    assert_eq!(query("Could you please show me the weather?"), ["show", "weather"]);
    assert_eq!(query("Who are you?"), ["who", "are", "you"]);
    assert!(
        document("who are you").contains(&"who".to_owned()),
        "or the prompt would find nothing"
    );
    assert!(counted("who are you").is_empty());
}

#[test]
fn the_surface_is_the_prompts_own_word() {
    let surfaces: Vec<_> =
        query_terms("Searching GitHub Issues").into_iter().map(|t| t.surface).collect();
    assert_eq!(surfaces, ["Searching", "Git", "Hub", "GitHub", "Issues"]);
}

#[test]
fn nothing_to_read_gives_no_terms() {
    for text in ["", "  \n", "!?…—", "''", "🙂🙃", "\u{301}", "\u{0}"] {
        assert_eq!(document(text), Vec::<String>::new(), "{text:?}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(text in any::<String>()) {
        for term in terms(&text, Side::Document).into_iter().chain(query_terms(&text)) {
            prop_assert!(!term.text.is_empty());
        }
    }

    #[test]
    fn tricky_characters_are_read_without_panic(
        text in "[aZ9'’־ׇָ׳ًـеЁйςΣǅﬁßİı漢がｶﾞ한ᄒไ็\u{200d}\u{301}🙂_. ]{0,24}",
    ) {
        terms(&text, Side::Document);
        query_terms(&text);
    }

    #[test]
    fn a_prompt_finds_the_document_that_says_the_same(text in "\\PC{0,40}") {
        let document = document(&text);
        for term in query(&text) {
            prop_assert!(document.contains(&term));
        }
    }
}
