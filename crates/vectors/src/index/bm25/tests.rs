use proptest::prelude::*;

use super::*;

const NAMES: [&str; 4] = ["read_file", "getWeather", "send_email", "search_issues"];
const TEXTS: [&str; 4] = [
    "Read a file from disk and return its text",
    "Current weather and forecast for a city",
    "Send a message with an attached file to a person",
    "Search the issues of a repository by text",
];

fn index() -> Bm25 {
    let fields = |row: usize| {
        [Field { text: NAMES[row], weight: 2.0 }, Field { text: TEXTS[row], weight: 1.0 }]
    };
    Bm25::build((0..4).map(fields), Bm25Settings::default())
}

fn plain(texts: &[&str]) -> Bm25 {
    let documents = texts.iter().map(|text| [Field { text, weight: 1.0 }]);
    Bm25::build(documents, Bm25Settings::default())
}

#[test]
fn the_formula_by_hand() {
    // "apple" occurs twice in one of two rows, as its two counted terms; the mean length is 1.5.
    let score = plain(&["apple apple", "pear"]).search("apples", 5)[0].score;
    let rarity = (1.0_f32 + (2.0 - 1.0 + 0.5) / (1.0 + 0.5)).ln();
    let expected = rarity * 2.0 * 2.2 / (2.0 + 1.2 * (1.0 - 0.75 + 0.75 * 2.0 / 1.5));
    assert!((score - expected).abs() < 1e-6, "{score} is not {expected}");
}

#[test]
fn by_rarity_a_rare_word_outweighs_common_ones() {
    let texts = ["file copy", "file copy", "file copy", "file archive", "file note"];
    let index = plain(&texts);
    let at = |power| index.score_by_rarity("archive file copy", Rows::All, power).unwrap();
    let (plain, rare) = (at(0.0), at(1.0));
    assert_eq!(plain, index.score("archive file copy", Rows::All).unwrap());
    let lead = |scores: &[f32]| scores[3] / scores[0];
    assert!(lead(&rare) > 1.5 * lead(&plain), "{plain:?} {rare:?}");
    let only = index.score_by_rarity("archive file copy", Rows::Only(&[3, 0]), 1.0).unwrap();
    assert_eq!(only, [rare[3], rare[0]]);
}

#[test]
fn the_heavier_field_wins() {
    let rows: Vec<_> = index().search("a file", 9).iter().map(|hit| hit.row).collect();
    assert_eq!(rows, [0, 2], "the name of row 0 says file, of row 2 only the text");
}

#[test]
fn matched_terms_are_the_prompts_words() {
    let index = index();
    let prompt = "Please check the Weather forecasts in Cities near me, weather!";
    let matched = index.matched_terms(&[1, 0, 99], prompt);
    assert_eq!(matched[0], ["Weather", "forecasts", "Cities", "weather"]);
    assert_eq!(matched[1..], [Vec::<String>::new(), Vec::new()]);
}

#[test]
fn word_order_and_repetition_do_not_change_a_score() {
    let index = index();
    let all = |prompt| index.score(prompt, Rows::All).unwrap();
    assert_eq!(all("file text search"), all("search text file file"));
}

#[test]
fn the_words_are_told_as_they_are_written() {
    let index = plain(&["Searching getWeather user_name's issues", "the issue of issues 2x"]);
    let words: Vec<(&str, u32)> =
        index.words().iter().map(|(word, rows)| (&**word, *rows)).collect();
    assert_eq!(words, [("issue", 2), ("issues", 2), ("searching", 1), ("user", 1), ("weather", 1)]);
}

#[test]
fn a_prompt_of_stop_words_still_finds() {
    let index = plain(&["tell who you are", "weather"]);
    assert_eq!(index.search("who are you", 5).iter().map(|hit| hit.row).collect::<Vec<_>>(), [0]);
}

#[test]
fn rows_that_do_not_exist_are_refused() {
    let outside = index().score("file", Rows::Only(&[0, 4]));
    assert_eq!(outside, Err(Error::Row { row: 4, rows: 4 }));
}

#[test]
fn a_row_without_the_words_has_a_score_without_a_sign() {
    let scores = index().score("unheard", Rows::Only(&[1, 0])).unwrap();
    assert_eq!(scores.iter().map(|score| score.to_bits()).collect::<Vec<_>>(), [0, 0]);
}

#[test]
fn nothing_in_nothing_out() {
    let empty = plain(&[]);
    assert!(empty.is_empty() && empty.search("file", 3).is_empty());
    let silent = plain(&["", "!?"]);
    assert_eq!(silent.len(), 2);
    assert!(silent.search("file", 3).is_empty());
    assert!(index().search("", 3).is_empty());
    assert!(index().search("file", 0).is_empty());
}

#[test]
fn a_field_of_no_sensible_weight_is_left_out() {
    for weight in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let index = Bm25::build([[Field { text: "file", weight }]], Bm25Settings::default());
        assert!(index.search("file", 3).is_empty(), "{weight}");
    }
}

#[test]
fn a_mean_is_the_same_in_every_order() {
    let lengths: Vec<f32> = (0..5_000).map(|row| 0.35 * (row % 97) as f32 + 0.7).collect();
    let reversed: Vec<f32> = lengths.iter().rev().copied().collect();
    assert_eq!(mean(&lengths).to_bits(), mean(&reversed).to_bits());
    let exact = lengths.iter().map(|length| f64::from(*length)).sum::<f64>() / 5_000.0;
    assert!((f64::from(mean(&lengths)) - exact).abs() < 1e-5, "{exact}");
    assert_eq!(mean(&[]), f32::MIN_POSITIVE);
    assert!(mean(&[f32::MAX, f32::MAX]).is_finite());
}

proptest! {
    #[test]
    fn rows_in_another_order_score_the_same_to_the_bit(
        texts in prop::collection::vec(("([a-h] ){0,3}", "([a-h] ){0,9}"), 2..30),
        prompt in "([a-h] ){1,8}",
        turn in 0_usize..30,
    ) {
        let score = |texts: &[(String, String)]| {
            let fields = texts.iter().map(|(name, about)| {
                [Field { text: name, weight: 0.7 }, Field { text: about, weight: 0.35 }]
            });
            Bm25::build(fields, Bm25Settings::default()).score(&prompt, Rows::All).unwrap()
        };
        let mut turned = texts.clone();
        turned.reverse();
        let by = turn % texts.len();
        turned.rotate_left(by);
        let mut scores = score(&turned);
        scores.rotate_right(by);
        scores.reverse();
        let bits = |scores: Vec<f32>| scores.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        prop_assert_eq!(bits(scores), bits(score(&texts)));
    }

    #[test]
    fn every_way_to_ask_gives_the_same_scores(
        texts in prop::collection::vec("([abc]{1,2} ){0,6}", 1..12),
        prompt in "([abc]{1,2} ){0,4}",
        limit in 0_usize..14,
    ) {
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        let index = plain(&texts);
        let all = index.score(&prompt, Rows::All).unwrap();
        let rows: Vec<_> = (0..texts.len() as u32).rev().collect();
        let mut reversed = index.score(&prompt, Rows::Only(&rows)).unwrap();
        reversed.reverse();
        prop_assert_eq!(&all, &reversed);

        let matches = index.matches(&prompt);
        prop_assert!(all.iter().all(|score| score.is_finite() && *score >= 0.0));
        prop_assert_eq!(matches.len(), all.iter().filter(|score| **score > 0.0).count());
        prop_assert_eq!(&index.search(&prompt, limit)[..], &matches[..limit.min(matches.len())]);
        for hit in matches {
            prop_assert_eq!(hit.score, all[hit.row as usize]);
            prop_assert!(!index.matched_terms(&[hit.row], &prompt)[0].is_empty());
        }
        prop_assert_eq!(plain(&texts).score(&prompt, Rows::All).unwrap(), all);
    }
}
