//! Which script a prompt is written in.

use std::borrow::Cow;

use super::requests::content_words;

/// The share of a text's letters that are Latin: 1 for English, 0 for Chinese or Hebrew, 1 for a
/// text without letters.
///
/// An encoder with an English vocabulary reads other scripts letter by letter, and what it then
/// says of their meaning is worth little.
pub fn latin_share(text: &str) -> f32 {
    let (mut latin, mut all) = (0u32, 0u32);
    for letter in text.chars().filter(|letter| letter.is_alphabetic()) {
        all += 1;
        latin += u32::from(is_latin(letter));
    }
    if all == 0 { 1.0 } else { latin as f32 / all as f32 }
}

/// The text without the letters of other scripts, where the Latin ones say something by themselves:
/// an encoder with an English vocabulary sees only noise in the others.
///
/// ```
/// use toolroute_rank::query::latin_part;
///
/// assert_eq!(latin_part("请 create issue 在 GitHub"), "create issue GitHub");
/// assert_eq!(latin_part("打开 GitHub"), "打开 GitHub");
/// ```
pub fn latin_part(text: &str) -> Cow<'_, str> {
    let is_other = |letter: char| letter.is_alphabetic() && !is_latin(letter);
    if !text.contains(is_other) {
        return Cow::Borrowed(text);
    }
    let parts = text.split(is_other).flat_map(str::split_whitespace);
    let parts = parts.filter(|part| part.contains(char::is_alphanumeric));
    let latin = parts.collect::<Vec<_>>().join(" ");
    // Numbers and the joints of names say nothing.
    let words = latin.replace(|c: char| !c.is_alphabetic(), " ");
    if content_words(&words) >= ENOUGH { Cow::Owned(latin) } else { Cow::Borrowed(text) }
}

/// Words that say something: one alone is a name as a rule, and does not say what is to be done.
const ENOUGH: usize = 2;

/// The letters of the Unicode blocks Basic Latin to Latin Extended-B and Latin Extended Additional.
fn is_latin(letter: char) -> bool {
    matches!(letter, '\0'..='\u{24F}' | '\u{1E00}'..='\u{1EFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

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
