//! English words that carry no information about a request.

/// Articles, pronouns, auxiliaries, prepositions, polite phrases, and contractions without their
/// apostrophe. Verbs that distinguish tools (`get`, `find`, `show`, `make`, `use`) are not
/// included: as stop words they helped on some sets and harmed as much on others. Sorted, for the
/// binary search below.
const STOP_WORDS: [&str; 139] = [
    "a", "about", "after", "also", "am", "an", "and", "any", "are", "arent", "as", "at", "be",
    "because", "been", "before", "being", "between", "but", "by", "can", "cannot", "cant", "could",
    "couldnt", "did", "didnt", "do", "does", "doesnt", "doing", "dont", "during", "each", "for",
    "from", "give", "had", "has", "have", "having", "he", "hello", "help", "her", "here", "hers",
    "hi", "him", "his", "how", "i", "if", "im", "in", "into", "is", "isnt", "it", "its", "ive",
    "just", "know", "let", "lets", "like", "looking", "may", "me", "might", "mine", "more", "my",
    "need", "no", "not", "of", "on", "or", "other", "our", "ours", "out", "over", "please",
    "shall", "she", "should", "so", "some", "such", "tell", "than", "thank", "thanks", "that",
    "thats", "the", "their", "theirs", "them", "then", "there", "these", "they", "this", "those",
    "through", "to", "too", "up", "us", "very", "want", "was", "wasnt", "we", "were", "what",
    "whats", "when", "where", "which", "while", "who", "whom", "will", "with", "within", "wont",
    "would", "wouldnt", "you", "youd", "youll", "your", "youre", "yours", "youve",
];

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
