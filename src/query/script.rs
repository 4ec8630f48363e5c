//! Which script a prompt is written in.

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
}
