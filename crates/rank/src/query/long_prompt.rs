//! Bounds how much of a prompt is read.

use super::focus::Omission;
use super::line_kinds::NoiseKind;

/// How many bytes are read of the beginning of a longer prompt, and how many of its end. The time to
/// read a prompt grows with its length: 128 KiB, some 30,000 tokens, take a tenth of a second.
const END_BYTES: usize = 64 << 10;

/// Returns a prompt of more than twice 64 KiB without its middle, and what was left out. People ask
/// before or after what they paste.
pub(crate) fn without_middle(prompt: &str) -> Option<(String, Omission)> {
    if prompt.len() <= 2 * END_BYTES {
        return None;
    }
    // Between words, unless the next space is far.
    let near = |at: &usize| *at < END_BYTES / 10;
    let end = prompt.floor_char_boundary(END_BYTES - 1);
    let back = prompt[..end].rfind(char::is_whitespace).map(|at| end - at).filter(near);
    let end = end - back.unwrap_or_default();
    let start = prompt.ceil_char_boundary(prompt.len() - END_BYTES + 1);
    let start = start + prompt[start..].find(char::is_whitespace).filter(near).unwrap_or_default();
    let words = prompt[end..start].split_whitespace().count();
    let kept = format!("{}\n\n{}", &prompt[..end], &prompt[start..]);
    Some((kept, Omission { kind: NoiseKind::Middle, words }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_long_prompt_are_kept() {
        let short = "word ".repeat(2 * END_BYTES / 5);
        assert_eq!(without_middle(&short), None);
        for filler in ["lorem ipsum ", "é", "אבג\n"] {
            let prompt = format!("read a.txt: {} and mail it", filler.repeat(100_000));
            let (kept, omission) = without_middle(&prompt).unwrap();
            assert!(kept.starts_with("read a.txt: ") && kept.ends_with(" and mail it"));
            assert!(kept.len() <= 2 * END_BYTES, "{}", kept.len());
            let words = kept.split_whitespace().count() + omission.words;
            assert!(words.abs_diff(prompt.split_whitespace().count()) <= 2, "{omission:?}");
        }
    }
}
