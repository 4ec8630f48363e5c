//! Detects follow-up prompts, which need an earlier one: "and for tomorrow?", "now do the same for
//! Berlin".

use std::borrow::Cow;

use super::context::{Speaker, Turn, says_nothing};
use super::focus::focus;
use super::mood::{may_order, orders};
use super::plain_text::{Places, unquoted, words};
use super::reference::refers_back;
use super::requests::content_words;
use super::{Pattern, is_listed};

/// Beginnings of a prompt that continues an earlier one. In Hebrew, "and" is part of the word.
static CONTINUES: Pattern = Pattern::new(concat!(
    r"(?i)^\W*(?:(?:ok|okay|great|thanks|thank you|good|perfect|nice|cool|yes|yep|sure|fine|super)[\s,.!:]+)*(?:",
    r"(?:and|or|but|also|then|now|plus)\s+(?:for|in|on|at|to|from|with|by|of|about|what about|how about|the|that|this|it|them|all|one|another|once more|again|only|just|as|under|over|next|last|tomorrow|yesterday|tonight|after|before)\b",
    r"|(?:and|but|or)\b[^?]{0,30}\?\s*$",
    r"|what (?:about|if)\b|how about\b|(?:the )?same\b|same for\b|again\b|once more\b|another one\b|one more\b|instead\b|rather\b|not that\b",
    r"|(?:no|nope|hmm|wait|sorry|actually)[\s,.:]+",
    r"|(?:make|do|undo|repeat|delete|send|cancel|move|change|show|open|close|try|put|save|share|sort|forward|reschedule|rename|translate|summari[sz]e|explain|shorten|print|turn) (?:(?:it|them|the same|the (?:first|second|third|last|other|next|previous) one)\b|(?:this|that|these|those)(?:\W*$|[.?!,]|\s+(?:to|for|in|on|at|into|from|with|by|as|again|too|instead|now)\b))",
    r"|(?:for|in|on|at|to|from|with|only|just|until|next|by)(?:\s[\w'-]+){1,3}[?.!]*$",
    r"|(?:und|und für|und in|und am|jetzt|nochmal|das gleiche|dasselbe|et|et pour|et à|pareil|maintenant|encore|y|y para|y en|lo mismo|ahora|otra vez|e per|lo stesso|а|а в|а для|и|теперь|то же самое|ещё раз)\s.{0,40}[?]\s*$",
    r"|(?:das gleiche|dasselbe|pareil|la même chose|lo mismo|lo stesso|то же самое|同样|那么|再)",
    r"|(?:ומה|אותו דבר|אותו הדבר|אותה|גם |עכשיו |שוב|ועכשיו |ובשביל|ול|וב|ומ)",
    r")"
));

/// A prompt with at least this number of content words stands on its own, whatever it refers to.
const ENOUGH_WORDS: usize = 5;
/// Maximum number of content words in a prompt that continues another.
const MOST_WORDS: usize = 12;
/// How many earlier prompts are searched for one that stands on its own.
const BACK: usize = 4;
/// Maximum number of characters that are taken from an earlier prompt.
const EARLIER_CHARS: usize = 600;

/// Whether a prompt needs an earlier one to be understood. Covers English and Hebrew, and the most
/// common phrases of German, French, Spanish, Italian, Russian and Chinese.
pub fn is_follow_up(prompt: &str) -> bool {
    let words = content_words(prompt);
    words <= MOST_WORDS && CONTINUES.is_match(prompt) || words < ENOUGH_WORDS && refers_back(prompt)
}

/// Verbs that repeat or take back what was done, and do nothing else with "it".
const REPEATING: &str = "do redo repeat rerun retry try undo";

/// Whether a prompt orders something to be done with a thing that was said before, and nothing else:
/// "confirm it", "assign it to Tom", unlike "do it again".
pub fn acts_on_it(prompt: &str) -> bool {
    let plain = unquoted(prompt, Places::default());
    let [order] = orders(&plain)[..] else { return false };
    let words = words(order);
    let is_verb = |verb: &str| may_order(verb) && !is_listed(REPEATING, verb);
    matches!(words[..], [verb, object, ..] if is_verb(verb) && is_listed("it this that these those them", object))
        && content_words(order) < ENOUGH_WORDS
}

/// Returns the text for retrieval: the prompt and, for a follow-up, the earlier prompt to which it
/// refers.
///
/// Turns of assistants and tools are ignored: they contain results, not requests.
pub fn routing_text<'a>(prompt: &'a str, conversation: &[Turn]) -> Cow<'a, str> {
    let mut said = conversation.iter().rev().filter(|turn| turn.role == Speaker::User).peekable();
    // Most prompts have no earlier turn; then the patterns need not run.
    if said.peek().is_none() || !is_follow_up(prompt) {
        return Cow::Borrowed(prompt);
    }
    let mut earlier: Vec<Cow<'_, str>> = Vec::new();
    for turn in said.map(|turn| turn.text.trim()).filter(|text| !says_nothing(text)).take(BACK) {
        let asked = focus(turn, &|_| true).text;
        let is_whole = !is_follow_up(&asked);
        earlier.push(asked);
        if is_whole {
            break;
        }
    }
    if earlier.is_empty() {
        return Cow::Borrowed(prompt);
    }
    // The prompt that stands on its own determines the kind of tool; later ones only vary it.
    let first = earlier.pop().unwrap_or_default();
    let first: String = first.chars().take(EARLIER_CHARS).collect();
    Cow::Owned(format!("{first}\n{prompt}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follow_ups_are_told_from_requests() {
        for prompt in [
            "now do the same for Berlin",
            "and for tomorrow?",
            "what about Rome?",
            "And in euros?",
            "Same for the second file",
            "make it shorter",
            "cancel it",
            "thanks, and the one after that?",
            "undo that",
            "no, the other one",
            "for 4 people",
            "ומה עם מחר?",
            "אותו דבר לברלין",
            "und für Berlin?",
            "et pour demain ?",
            "а в Москве?",
            "那么明天呢",
        ] {
            assert!(is_follow_up(prompt), "{prompt}");
        }
        for prompt in [
            "What is the weather in Berlin tomorrow?",
            "Book a table for two at Luigi's on Friday",
            "Translate this letter into French and mail it to Dana",
            "list all open pull requests",
            "In which city was Kafka born?",
            "מה מזג האוויר מחר בחיפה",
            "Delete the file report.txt from the downloads folder",
            "list the loans that are overdue",
        ] {
            assert!(!is_follow_up(prompt), "{prompt}");
        }
    }

    #[test]
    fn an_order_may_act_on_what_was_said() {
        for prompt in
            ["confirm it", "Please cancel that!", "could you assign it to Tom?", "put it back"]
        {
            assert!(acts_on_it(prompt), "{prompt}");
        }
        for prompt in
            ["do it again", "confirm order 12", "it is confirmed", "is it open?", "undo it"]
        {
            assert!(!acts_on_it(prompt), "{prompt}");
        }
    }

    #[test]
    fn a_follow_up_is_routed_with_what_it_hangs_on() {
        let turn = |role, text: &str| Turn { role, text: text.to_owned() };
        let conversation = [
            turn(Speaker::User, "Weather in Oslo?"),
            turn(Speaker::Assistant, "Sunny."),
            turn(Speaker::User, "and in Rome?"),
            turn(Speaker::User, "??"),
            turn(Speaker::Tool, "{\"sky\": \"grey\"}"),
        ];
        assert_eq!(routing_text("and tomorrow?", &conversation), "Weather in Oslo?\nand tomorrow?");
        let own = "Send an email to Dana about the trip to Rome";
        assert_eq!(routing_text(own, &conversation), own);
        assert_eq!(routing_text("and tomorrow?", &[]), "and tomorrow?");
    }
}
