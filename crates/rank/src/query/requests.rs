//! Distinguishes a request ("book a hotel", "can you …?") from a statement ("my number is 7").

use std::collections::HashSet;
use std::sync::LazyLock;

use super::Pattern;

/// Verbs that start a request to an assistant.
const VERBS: &str = "accept access activate add adjust alert align allocate analyse analyze annotate append apply \
    approve archive arrange ask assess assign attach authenticate backup ban begin block book browse build buy \
    calculate call cancel capture categorize change charge check choose classify clean clear clone close collect \
    combine comment compare compile complete compose compress compute configure confirm connect construct contact \
    convert copy count create crop cut debug decline decode decrypt define delete deliver deploy describe design \
    detect determine develop diagnose disable discover display divide do download draft draw edit email enable encode \
    encrypt end enhance ensure enter escalate estimate evaluate examine execute expand explain explore export extend \
    extract fetch figure fill filter find finish fix follow forecast format forward gather generate get give grab \
    group guide handle help highlight identify import improve include increase inform initialize initiate insert \
    inspect install integrate investigate invite join kick launch let list listen load locate log look lookup make \
    manage map mark measure merge message modify monitor move multiply mute name navigate notify obtain offer open \
    optimize order organize pause pay perform pick place plan play plot post postpone predict prepare prescribe \
    preview print process produce provide publish pull purchase push put query rank rate read reassign rebook reboot \
    recommend record reduce refer refresh refund register reject remind remove rename render renew reorder repeat \
    replace reply report request reschedule reserve reset resize resolve restart restore resume retrieve return \
    reverse revert review rewrite rotate run save scan schedule scrape search select send set setup share show shut \
    sign simulate solve sort specify split start stop store stream submit subscribe subtract suggest summarize sync \
    take tell test track train transcribe transfer translate trim turn undo uninstall unlock unmute update upgrade \
    upload use validate verify view visit waive watch write zip";

/// Words without content of their own.
const EMPTY: &str = "a an the of to in on for with and or is are was be i i'm im my me you your it this that these those \
    please can could would will do does at by from as we us our what which who how when where there have has had need \
    want like some any so if then also";

static VERB: LazyLock<HashSet<&str>> = LazyLock::new(|| VERBS.split_whitespace().collect());
static EMPTY_WORD: LazyLock<HashSet<&str>> = LazyLock::new(|| EMPTY.split_whitespace().collect());

static OPENER: Pattern = Pattern::new(
    r"(?i)^(?:(?:hi|hello|hey|ok|okay|oh|well|so|and|then|also|plus|finally|lastly|next|first|firstly|second|secondly|third|thirdly|additionally|furthermore|moreover|afterwards|after that|once that is done|in addition|besides|subsequently|meanwhile|please|kindly|just|if possible|by the way)[\s,:]+)+",
);
static ASKING: Pattern = Pattern::new(
    r"(?i)^(?:(?:can|could|would|will|may|might) (?:you|i|we)\b|i(?:['’]d| would)? (?:like|love|want|need|wish)\b|i(?:['’]m| am) (?:looking|trying|interested|searching)\b|we(?:['’]d| would)? (?:like|want|need)\b|(?:what|which|who|whom|whose|when|where|why|how|is|are|does|do|did|has|have)\b|let(?:['’]s| us| me)\b|(?:text|ping|bill|phone|ring) (?:him|her|them|me|us|my|our|the|everyone|everybody|all)\b|i(?:['’]ll| will) need\b|i also\b)",
);
static RELATIVE: Pattern =
    Pattern::new(r"(?i)^(?:which|who|whose|when|where|how|what|is|are|does|has|have)\b");

/// Whether a lower-case word is a verb that starts a request.
pub fn is_verb(word: &str) -> bool {
    VERB.contains(word)
}

/// The verbs that start a request.
pub(super) fn verbs() -> impl Iterator<Item = &'static str> {
    VERBS.split_whitespace()
}

/// Returns the text without a leading "and then", "please", "finally" and the like.
pub(super) fn without_opener(text: &str) -> &str {
    let text = text.trim();
    OPENER.find(text).map_or(text, |opener| &text[opener.end()..])
}

/// Whether a text starts like a request, after its opener.
pub(super) fn is_request(text: &str) -> bool {
    let text = without_opener(text);
    let word = text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    ASKING.is_match(text) || is_verb(&word.to_ascii_lowercase())
}

/// Whether a text starts with "which", "is" and the like, which rarely starts a question after a
/// comma.
pub(super) fn is_relative(text: &str) -> bool {
    RELATIVE.is_match(without_opener(text))
}

/// Whether a lower-case word is neither a request verb nor a word without content.
pub(super) fn is_content(word: &str) -> bool {
    !is_verb(word) && !EMPTY_WORD.contains(word)
}

/// The number of content words in a text.
pub(super) fn content_words(text: &str) -> usize {
    let joins = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '_' | '-');
    let words = text.split(|c| !joins(c)).filter(|word| word.chars().any(char::is_alphanumeric));
    words.filter(|word| !EMPTY_WORD.contains(word.to_lowercase().as_str())).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_from_statements() {
        for text in [
            "book a hotel",
            "Then, please send it",
            "Could you tell me?",
            "I'd like a coffee",
            "what's new",
        ] {
            assert!(is_request(text), "{text}");
        }
        for text in ["my number is 7", "Berlin", "", "the report of May", "preferably by train"] {
            assert!(!is_request(text), "{text}");
        }
    }

    #[test]
    fn openers_are_seen() {
        assert_eq!(without_opener("After that, please also call him"), "call him");
        assert_eq!(without_opener("Android phones"), "Android phones");
        assert_eq!(content_words("can you book a table for 4"), 3);
    }
}
