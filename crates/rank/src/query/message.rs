//! Detects whether a message needs the web, how urgent it is, and whether a model is small.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::keywords::{Keywords, lines_by_label};
use super::{Pattern, pattern};

static WEB: LazyLock<Keywords<()>> =
    LazyLock::new(|| Keywords::parse(include_str!("data/web.txt"), |_| Some(())));
/// The labels are percentages.
static URGENCY: LazyLock<Keywords<u8>> = LazyLock::new(|| {
    Keywords::parse(include_str!("data/urgency.txt"), |heading| {
        heading.parse::<f32>().ok().map(|urgency| (urgency * 100.0) as u8)
    })
});
/// The patterns of [`SmallModels::default`].
static SMALL: LazyLock<Vec<Regex>> = LazyLock::new(|| small().into_iter().map(pattern).collect());
static ADDRESS: Pattern = Pattern::new(r"(?i)\bhttps?://|\bwww\.[a-z0-9]");

fn small() -> Vec<&'static str> {
    let texts = lines_by_label(include_str!("data/small_models.txt"), |_| Some(()));
    texts.into_iter().map(|(text, _)| text).collect()
}

/// Which models are small, by name, and how many tools they get at most.
///
/// ```
/// # use toolroute_rank::query::SmallModels;
/// let rule = SmallModels::default();
/// assert!(rule.is_small("llama3.2:3b") && rule.is_small("gpt-4o-mini"));
/// assert!(!rule.is_small("gpt-4") && !rule.is_small("llama3.1:70b"));
/// assert_eq!(rule.cap("qwen2.5-coder:7b", 15), 10);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmallModels {
    /// Regular expressions that match anywhere in the lower-case name. An invalid one matches
    /// nothing; [`SmallModels::bad_pattern`] finds it.
    pub patterns: Vec<String>,
    /// Maximum number of tools for a small model.
    pub max_tools: usize,
}

impl Default for SmallModels {
    /// Models with up to eight billion parameters in their name, or a word such as `mini`, get 10 tools.
    /// The limit is that of the source document.
    fn default() -> Self {
        Self { patterns: small().into_iter().map(str::to_owned).collect(), max_tools: 10 }
    }
}

impl SmallModels {
    /// Whether the model with this name is small.
    pub fn is_small(&self, model: &str) -> bool {
        let model = model.to_lowercase();
        if self.patterns == small() {
            return SMALL.iter().any(|regex| regex.is_match(&model));
        }
        let mut regexes = self.patterns.iter().filter_map(|text| Regex::new(text).ok());
        regexes.any(|regex| regex.is_match(&model))
    }

    /// Returns the maximum number of tools for a model; `most` unless it is small.
    pub fn cap(&self, model: &str, most: usize) -> usize {
        if self.is_small(model) { most.min(self.max_tools) } else { most }
    }

    /// Returns the first invalid pattern and the error. Shipped patterns are not checked.
    pub fn bad_pattern(&self) -> Option<(&str, String)> {
        let ours = small();
        let mut others = self.patterns.iter().filter(|text| !ours.contains(&text.as_str()));
        others.find_map(|text| Some((text.as_str(), Regex::new(text).err()?.to_string())))
    }
}

/// Whether a message needs the web: it contains an address, or asks for news or the latest.
pub fn needs_web(message: &str) -> bool {
    ADDRESS.is_match(message) || WEB.best(message).is_some()
}

/// Returns the urgency that a message states, 0 to 1: 1 for "urgent" and "right now", 0.6 for
/// "quickly", and 0 if it states none or that there is no hurry.
pub fn urgency(message: &str) -> f32 {
    let found = URGENCY.all(message);
    if found.iter().any(|(label, _)| *label == 0) {
        return 0.0;
    }
    found.iter().map(|(label, _)| f32::from(*label) / 100.0).fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_models_are_told_by_their_names() {
        let rule = SmallModels::default();
        assert_eq!(rule.bad_pattern(), None);
        let small = "llama3.2:1b qwen2.5-coder:7b mistral-7b-instruct gemma-2b-it phi3 phi-4-mini \
            gpt-4o-mini gpt-4.1-nano claude-3-haiku SmolLM2-1.7B qwen2.5:0.5b tinyllama \
            ministral-8b-2410 claude-haiku-4-5 mistral-small";
        let large = "gpt-4 gpt-5 claude-opus-4 llama3.1:70b qwen2.5:72b mixtral-8x22b deepseek-v3 \
            llama-3.1-405b gemma-27b command-r-plus gemini-2.5-pro minimax-m1 codestral-22b";
        for (names, is_small) in [(small, true), (large, false)] {
            for name in names.split_whitespace() {
                assert_eq!(rule.is_small(name), is_small, "{name}");
            }
        }
        let own = SmallModels { patterns: vec!["^house-".into(), "(".into()], max_tools: 3 };
        assert_eq!(
            (own.cap("House-1", 15), own.cap("house-1", 2), own.cap("gpt-4o-mini", 15)),
            (3, 2, 15)
        );
        assert_eq!(own.bad_pattern().unwrap().0, "(");
    }

    #[test]
    fn the_web_is_needed_where_the_message_says_so() {
        for message in [
            "what does https://example.org say",
            "the latest on the election",
            "look up the opening hours",
            "חפש באינטרנט מתכון",
            "что в новости сегодня",
        ] {
            assert!(needs_web(message), "{message}");
        }
        for message in ["rename the file", "add two and two", "a webcam is broken", "latestness"] {
            assert!(!needs_web(message), "{message}");
        }
    }

    #[test]
    fn urgency_is_what_the_message_says() {
        assert_eq!(urgency("URGENT: the site is down"), 1.0);
        assert_eq!(urgency("דחוף, השרת נפל"), 1.0);
        assert_eq!(urgency("quickly convert this"), 0.6);
        assert_eq!(urgency("convert this"), 0.0);
        assert_eq!(urgency("no rush, whenever you can do it now"), 0.0);
        assert_eq!(urgency("insurgents in history"), 0.0);
    }
}
