//! Detects follow-up prompts, which need an earlier one: "and for tomorrow?", "now do the same for
//! Berlin".

use std::borrow::Cow;

use super::clauses::sentences;
use super::context::{Speaker, Turn, says_nothing};
use super::focus::focus;
use super::mood::orders;
use super::plain_text::{Places, unquoted, words};
use super::reference::refers_back;
use super::requests::{content_words, is_request};
use super::verbs::may_order;
use super::wishes::is_order;
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

/// Words with which a user agrees or refuses, and says nothing else.
const AGREEING: &str = "absolutely actually agreed ahead all and confirm confirmed correct course cool definitely do don't exactly \
    fine go good great just kindly nah no nope of ok okay perfect please right so sounds sure thank thanks that that's \
    this very well y yeah yep yes you yup ja nein oui non sí no da да нет כן לא";

/// Questions after which a user turns to something new.
static OPEN: Pattern = Pattern::new(
    r"(?i)\b(?:(?:any|some)thing (?:else|more)|what (?:else|next)|(?:can|may|could) i (?:help|assist|do)|help you)\b",
);

/// Maximum number of characters that are taken from a question of the assistant.
const QUESTION_CHARS: usize = 300;

fn only_agrees(prompt: &str) -> bool {
    let plain = unquoted(prompt, Places::default());
    let words = words(&plain);
    let mut said = words.iter().filter(|word| **word != ",");
    said.clone().count() > 0 && said.all(|word| is_listed(AGREEING, word))
}

/// Returns the question with which the assistant's last turn ends.
fn question(conversation: &[Turn]) -> Option<&str> {
    let last = conversation.last().filter(|turn| turn.role == Speaker::Assistant)?;
    let last = sentences(&last.text).pop()?.trim();
    let asks = last.ends_with('?') && last.chars().nth(QUESTION_CHARS).is_none();
    (asks && !OPEN.is_match(last)).then_some(last)
}

/// Whether a prompt is a reply: it agrees, it answers a question of the assistant, or, where turns of the
/// assistant are not known, it is only a name or a number.
fn is_reply(prompt: &str, before: &[Turn], is_tool_word: &dyn Fn(&str) -> bool) -> bool {
    if only_agrees(prompt) {
        return true;
    }
    let is_own = || is_request(prompt) || is_order(prompt);
    let asks_itself = || is_own() && content_words(prompt) > 1 || prompt.ends_with('?');
    if question(before).is_some() {
        return content_words(prompt) <= MOST_WORDS && !asks_itself();
    }
    let is_value = |word: &str| {
        word.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit() || c == '+')
            && !is_tool_word(&word.to_lowercase())
            && !may_order(&word.to_lowercase())
    };
    let is_known = before.iter().any(|turn| turn.role == Speaker::Assistant);
    !is_known && prompt.split_whitespace().count() <= 3 && prompt.split_whitespace().all(is_value)
}

/// Returns the text for retrieval: the prompt and, for a follow-up, the earlier prompt to which it
/// refers.
///
/// Turns of assistants and tools are ignored, because they contain results and no requests, except for
/// the question to which the prompt is the reply.
pub fn routing_text<'a>(prompt: &'a str, conversation: &[Turn]) -> Cow<'a, str> {
    text_after(prompt, conversation, &|_| true)
}

/// The same as [`routing_text`], if it is known which words are those of tools.
pub(super) fn text_after<'a>(
    prompt: &'a str,
    conversation: &[Turn],
    is_tool_word: &dyn Fn(&str) -> bool,
) -> Cow<'a, str> {
    let is_user = |(_, turn): &(usize, &Turn)| turn.role == Speaker::User;
    let mut said = conversation.iter().enumerate().rev().filter(is_user).peekable();
    let hangs_on = |text: &str, before| is_follow_up(text) || is_reply(text, before, is_tool_word);
    // Most prompts have no earlier turn; then the patterns need not run.
    if said.peek().is_none() || !hangs_on(prompt, conversation) {
        return Cow::Borrowed(prompt);
    }
    let mut earlier: Vec<Cow<'_, str>> = Vec::new();
    let said = said.filter(|(_, turn)| !says_nothing(turn.text.trim())).take(BACK);
    for (at, turn) in said {
        let asked = focus(turn.text.trim(), &|_| true).text;
        let is_whole = !hangs_on(&asked, &conversation[..at]);
        earlier.push(asked);
        if is_whole {
            break;
        }
    }
    // The prompt that stands on its own determines the kind of tool; later ones only vary it.
    let Some(first) = earlier.pop() else { return Cow::Borrowed(prompt) };
    let first: String = first.chars().take(EARLIER_CHARS).collect();
    // "Shall I delete it?" says what is to be done, "for what time?" does not.
    let says_what = |question: &&str| {
        let question = question.to_lowercase();
        words(&question).iter().any(|word| *word != "do" && may_order(word))
    };
    match question(conversation).filter(says_what) {
        Some(question) => Cow::Owned(format!("{first}\n{question}\n{prompt}")),
        None => Cow::Owned(format!("{first}\n{prompt}")),
    }
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

    #[test]
    fn a_reply_is_routed_with_what_was_asked() {
        let turn = |role, text: &str| Turn { role, text: text.to_owned() };
        let asked = |first: &str, question: &str| {
            [turn(Speaker::User, first), turn(Speaker::Assistant, question)]
        };
        let delete = asked("delete the note Ideas", "I found it. Really delete it?");
        for reply in ["yes", "Yes, please", "ok", "of course", "go ahead", "Ideas", "2", "both"] {
            let expected = format!("delete the note Ideas\nReally delete it?\n{reply}");
            assert_eq!(routing_text(reply, &delete), expected);
        }
        let block = asked("block the caller", "Whom do you mean?");
        let named: Vec<Turn> = block.iter().cloned().chain([turn(Speaker::User, "Dana")]).collect();
        assert_eq!(routing_text("the dentist", &block), "block the caller\nthe dentist");
        assert_eq!(routing_text("ok", &named), "block the caller\nok");
        let done = asked("delete the note Ideas", "Done. Anything else?");
        for (new, before) in [
            ("mute the channel", &delete),
            ("weather in Oslo", &done),
            ("set an alarm for 7", &delete),
            ("what's new?", &delete),
        ] {
            assert_eq!(routing_text(new, before), new);
        }
        let session = &block[..1];
        assert_eq!(text_after("Dana", session, &|_| false), "block the caller\nDana");
        assert_eq!(text_after("Calendar", session, &|_| true), "Calendar");
    }
}
