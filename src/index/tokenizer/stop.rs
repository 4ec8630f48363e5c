//! English words that say nothing about what a prompt is after.

/// Articles, pronouns, auxiliaries, prepositions, the politeness of prompts, and contractions as
/// they look without their apostrophe. Words that tell tools apart (`get`, `find`, `show`, `all`,
/// `not`, `when`, `where`) are left in. Sorted, for the search below.
const STOP_WORDS: [&str; 115] = [
    "a", "about", "also", "am", "an", "and", "any", "are", "arent", "as", "at", "be", "because",
    "been", "being", "but", "by", "can", "cannot", "cant", "could", "couldnt", "did", "didnt",
    "do", "does", "doesnt", "doing", "dont", "for", "from", "had", "has", "have", "having", "he",
    "hello", "her", "here", "hers", "hi", "him", "his", "how", "i", "if", "im", "in", "into", "is",
    "isnt", "it", "its", "ive", "just", "lets", "may", "me", "might", "mine", "my", "need", "of",
    "on", "or", "our", "ours", "please", "shall", "she", "should", "so", "some", "such", "than",
    "thank", "thanks", "that", "thats", "the", "their", "theirs", "them", "then", "there", "these",
    "they", "this", "those", "to", "too", "us", "very", "want", "was", "wasnt", "we", "were",
    "what", "whats", "which", "who", "whom", "will", "with", "wont", "would", "wouldnt", "you",
    "youd", "youll", "your", "youre", "yours", "youve",
];

/// Whether a folded word says nothing.
pub(super) fn is_stop_word(folded: &str) -> bool {
    STOP_WORDS.binary_search(&folded).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_each_word_is_found() {
        assert!(STOP_WORDS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| is_stop_word(word)));
        assert!(!is_stop_word("weather"));
    }
}
