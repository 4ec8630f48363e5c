//! What a prompt says of the moment in which it is asked: urgency, the need of fresh facts, and
//! whether it goes on with what was said before.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    pub role: Speaker,
    pub text: String,
}

/// Who spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    User,
    Assistant,
    Tool,
}

fn pattern(text: &str) -> Regex {
    let built = RegexBuilder::new(text).case_insensitive(true).build();
    built.expect("the patterns of this file are regular expressions. This is a bug.")
}

static URGENT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"\b(urgent(ly)?|asap|a\.s\.a\.p|immediately|right now|right away|at once|quick(ly)?|hurry",
        r"|emergency|no time|in a hurry|as fast as (you|possible)|as soon as possible)\b",
        r"|דחוף|מיד\b|מהר|עכשיו|בהקדם|חירום|dringend|sofort|urgente?\b|tout de suite|срочно|紧急|急ぎ"
    ))
});

/// Whether the prompt asks for haste.
pub fn is_urgent(text: &str) -> bool {
    URGENT.is_match(text)
}

static WEB: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"https?://|\bwww\.|\b(on(line| the (web|internet))|(search|browse|look up) (the )?(web|internet)",
        r"|google|latest|news|headlines|today's|this week's|current(ly)? (price|weather|version|events)",
        r"|up[- ]to[- ]date|what happened|breaking)\b",
        r"|באינטרנט|ברשת|חדשות|עדכני|האחרונות"
    ))
});

/// Whether the prompt needs something that only the web has: a page, or what is new.
pub fn needs_web(text: &str) -> bool {
    WEB.is_match(text)
}

static GOES_ON: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^\W*(and|now|also|then|again|instead|what about|how about|same|ok(ay)?[,.]? (now|and)|ועכשיו|וגם|ומה|עכשיו)\b",
        r"|\b(the same|as well|once more|one more|that one|this one|the (first|second|last|other) one|do it|for (it|them|that)",
        r"|of (it|them)|it|them|those|too)\b|אותו דבר|שוב|גם ל|אותם|אותה"
    ))
});

/// Words above which a prompt says by itself what it wants.
const FEW_WORDS: usize = 12;

/// Characters of a turn that are taken.
const TURN_CHARS: usize = 400;

/// Whether a prompt is short and points to something said before it.
pub fn goes_on(text: &str) -> bool {
    text.split_whitespace().nth(FEW_WORDS).is_none() && GOES_ON.is_match(text)
}

/// What a prompt asks for where it goes on with a conversation: the latest thing that the user
/// asked for by itself, then the prompt. Any other prompt stays as it is.
/// At most `turns` turns of the user are read.
pub fn with_conversation<'a>(prompt: &'a str, history: &[Turn], turns: usize) -> Cow<'a, str> {
    if !goes_on(prompt) {
        return Cow::Borrowed(prompt);
    }
    let said = history.iter().rev().filter(|turn| turn.role == Speaker::User);
    let mut before: Vec<String> = Vec::new();
    for turn in said.take(turns) {
        before.push(turn.text.chars().take(TURN_CHARS).collect());
        if !goes_on(&turn.text) {
            break;
        }
    }
    if before.is_empty() {
        return Cow::Borrowed(prompt);
    }
    before.reverse();
    Cow::Owned(format!("{}\n{prompt}", before.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Turn {
        Turn { role: Speaker::User, text: text.to_owned() }
    }

    #[test]
    fn urgency_and_the_web_are_told_in_several_languages() {
        for text in ["I need this ASAP", "דחוף: מצא לי טיסה", "restart it right now"] {
            assert!(is_urgent(text), "{text}");
        }
        for text in ["a research report on urgency", "nowhere", "what time is it"] {
            assert!(!is_urgent(text), "{text}");
        }
        assert!(needs_web("the latest news on rates") && needs_web("read https://example.org"));
        assert!(needs_web("חפש באינטרנט") && !needs_web("rename this file"));
    }

    #[test]
    fn what_goes_on_is_read_with_what_was_said() {
        let history = [
            user("What is the weather in Oslo?"),
            Turn { role: Speaker::Assistant, text: "Rain.".into() },
        ];
        assert_eq!(
            with_conversation("now do the same for Berlin", &history, 2),
            "What is the weather in Oslo?\nnow do the same for Berlin"
        );
        let history = [history[0].clone(), user("and for Berlin")];
        assert_eq!(
            with_conversation("and for Rome", &history, 2),
            "What is the weather in Oslo?\nand for Berlin\nand for Rome"
        );
        for alone in ["Send an email to Dana", "now do the same for Berlin"] {
            let none = if alone.starts_with("now") { &[][..] } else { &history[..] };
            assert_eq!(with_conversation(alone, none, 2), alone);
        }
    }
}
