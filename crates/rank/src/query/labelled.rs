//! Lists of texts under labels, as the data files of this room hold them.

/// Reads a file of `# label` headings with a text a line below each. A heading that is no label of
/// `L` (`none`) stands for texts that have no label.
pub(super) fn parse<L: Copy>(
    file: &'static str,
    label: impl Fn(&str) -> Option<L>,
) -> Vec<(&'static str, Option<L>)> {
    let mut under = None;
    let mut texts = Vec::new();
    for line in file.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(heading) => under = label(heading),
            None => texts.push((line, under)),
        }
    }
    texts
}
