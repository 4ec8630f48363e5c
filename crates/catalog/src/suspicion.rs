//! Finds texts in the definition of a tool that try to steer the model.
//!
//! A model reads descriptions, and some are written so that the model obeys them: "ignore your
//! previous instructions", "always call this tool first", "do not tell the user". Such tools are
//! flagged, not removed, because a person has to decide whether a sentence is an order or a hint.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, OnceLock};

use regex::{Regex, RegexBuilder};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::excerpt::{one_line, shortened};
use crate::list::comparable;
use crate::sanitize::{clean, count_hidden, without_stuffing};
use crate::text::split_identifier;
use crate::tool::display_as;
use crate::{MCP_MEMBERS, Problem, Severity, Tool};

/// The maximum number of characters of a finding that are shown.
const SHOWN: usize = 100;

/// Why a tool is suspicious.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SuspicionKind {
    /// It tells the model to ignore other instructions.
    Override,
    /// It orders the model to call it, or to call it first.
    Order,
    /// It asks the model to keep something from the user.
    Secrecy,
    /// It asks for secrets, configuration or the conversation.
    Exfiltration,
    /// It contains tags that look like those of the system itself.
    Markup,
    /// It praises itself above other tools.
    Promotion,
    /// It contains invisible characters.
    Hidden,
    /// It repeats words far more often than prose does.
    Stuffing,
}

display_as!(SuspicionKind {
    Override => "tells the model to leave other instructions aside",
    Order => "orders the model to call it",
    Secrecy => "asks the model to keep something from the user",
    Exfiltration => "asks for secrets or for the conversation",
    Markup => "holds tags that look like a system's",
    Promotion => "praises itself above other tools",
    Hidden => "holds characters that nobody sees",
    Stuffing => "repeats words far beyond prose",
});

/// One finding in a tool's definition. Its `Display` is a single line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suspicion {
    /// What is suspicious.
    pub kind: SuspicionKind,
    /// `name`, `title`, `description`, `input_schema` or one of [`MCP_MEMBERS`].
    pub field: &'static str,
    /// The text that was found, without invisible characters.
    pub found: String,
}

impl fmt::Display for Suspicion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "its {} {}: {:?}", self.field, self.kind, self.found)
    }
}

impl Suspicion {
    /// Converts the finding to a problem of the catalog, which keeps the tool.
    pub(super) fn problem(&self) -> Problem {
        let found = format!("a text that {}: {:?}", self.kind, self.found);
        let cure =
            "read it before you trust the server, and leave the tool out if it is not harmless";
        Problem::new(Severity::Warning, "a description of what the tool does", found, cure)
            .field(self.field)
    }
}

use SuspicionKind::{Exfiltration, Markup, Order, Override, Promotion, Secrecy};

/// A sentence with which tools were observed to steer models, from the reports on tool poisoning
/// and "Gaming Tool Preferences" (arXiv 2505.18135), also in other languages.
struct Pattern {
    kind: SuspicionKind,
    /// Every matching text contains, in lower case, one of the words of each group. This check rules
    /// out most texts, so that most expressions are never compiled. Compiling all of them takes 10 ms.
    needs: &'static [&'static str],
    expression: &'static str,
}

const PATTERNS: &[Pattern] = &[
    Pattern {
        kind: Override,
        needs: &["ignore|disregard|forget|override|bypass"],
        expression: r"\b(ignore|disregard|forget|override|bypass)\b.{0,30}\b(previous|prior|above|earlier|preceding|system|existing|all other|any other)\b.{0,20}\b(instruction|prompt|message|rule|direction|guideline|command|tool)s?\b",
    },
    Pattern {
        kind: Override,
        needs: &[
            "instruction|task|goal|role|you are now|system override|system mode|developer override|developer mode",
        ],
        expression: r"\b(your|the)\s+(new|real|actual|true)\s+(instructions?|task|goal|role)\s+(is|are)\b|\byou are now\b|\b(system|developer) (override|mode)\b",
    },
    Pattern {
        kind: Override,
        needs: &["ignorier|missachte|vergiss|ignore|oublie|ignora|olvida|esqueça"],
        expression: r"\b(ignoriere?|missachte|vergiss)\b.{0,30}\b(anweisung|vorherig|bisherig)|\b(ignorez?|oubliez?)\b.{0,30}\binstructions?\b|\b(ignora|olvida|ignore|esqueça)\b.{0,30}\b(instrucciones|instruções|istruzioni)\b",
    },
    Pattern {
        kind: Override,
        needs: &["忽略|无视|無視|忘记|以前の指示|игнорируй|התעלם|تجاهل"],
        expression: r"(忽略|无视|無視|忘记).{0,12}(之前|以前|先前|上面|所有|以上).{0,8}(指令|指示|说明|提示|規則|规则)|以前の指示.{0,6}無視|игнорируй.{0,30}(инструкци|указани)|התעלם.{0,20}(הוראות|ההוראות)|تجاهل.{0,20}(التعليمات|تعليمات)",
    },
    Pattern {
        kind: Order,
        needs: &["must|shall|have to|are required to|should|need to", "this|the following"],
        expression: r"\b(you|the (assistant|model|agent|llm|ai))\s+((must|shall|have to|are required to)\s+(always\s+|first\s+|only\s+)*|(should|need to)\s+(always|first|only)\s+)(call|use|invoke|run|execute|choose|select|prefer)\s+(this|the following)\b",
    },
    Pattern {
        kind: Order,
        needs: &["always", "first|before |instead of|over "],
        expression: r"\balways\s+(call|use|invoke|run|execute|choose|select|prefer)\b.{0,60}\b(first|before (any|all|every|using|calling)|instead of|over (any|all|other))\b",
    },
    Pattern {
        kind: Order,
        needs: &["tool|function|server", "instead of|rather than|over|before|in place of"],
        expression: r"\b(call|use|invoke|run|execute|choose|select|prefer)\s+(this|the)?\s*(tool|function|server)\s+(instead of|rather than|over|before|in place of)\s+(any|all|every|each|other)\b",
    },
    Pattern {
        kind: Order,
        needs: &[
            "must |should ",
            "be called|be used|be invoked|be run|be executed|be selected|be chosen",
        ],
        expression: r"\b(must|should) (always )?be (called|used|invoked|run|executed|selected|chosen) (first|before (any|all|every|each)|instead of (any|all|other))\b",
    },
    Pattern {
        kind: Order,
        needs: &["never|do not|don't", "other|competing", "tool|function|server"],
        expression: r"\b(never|do not|don't)\s+(call|use|invoke|choose|select)\s+(any\s+)?(other|another|competing)\s+(tool|function|server)s?\b",
    },
    Pattern {
        kind: Order,
        needs: &[
            "必须|务必|总是|始终|一定要|必ず|вызывай|используй|immer zuerst dieses |esta herramienta|cet outil|esta ferramenta|questo strumento",
        ],
        expression: r"(必须|务必|总是|始终|一定要).{0,6}(首先|先|优先)?.{0,4}(调用|使用)(此|这个|本)(工具|函数)|必ず.{0,10}このツールを(最初に)?(使|呼)|(всегда|обязательно).{0,20}(вызывай|используй)\w* (этот|данный) инструмент|immer zuerst dieses (tool|werkzeug)|(siempre|toujours|sempre).{0,20}(esta herramienta|cet outil|esta ferramenta|questo strumento).{0,20}(primero|d'abord|primeiro|prima)",
    },
    Pattern {
        kind: Secrecy,
        needs: &["do not|don't|never|without", "user"],
        expression: r"\b(do not|don't|never|without)\s+(tell|telling|inform|informing|mention|mentioning|reveal|revealing|notify|notifying|alert|alerting|disclose|disclosing|show|showing)\b.{0,30}\b(the |this to the |it to the |to the )?user\b",
    },
    Pattern {
        kind: Secrecy,
        needs: &["用户|ユーザーに|пользовател"],
        expression: r"(不要|不得|别|勿).{0,6}(告诉|告知|透露|提及).{0,6}用户|ユーザーに.{0,10}(伝えない|知らせない|言わない)|не (говори|сообщай|упоминай).{0,20}пользовател",
    },
    Pattern {
        kind: Exfiltration,
        needs: &[
            ".aws|.gnupg|.cursor|.kube|.ssh|id_rsa|id_ed25519|mcp.json|claude_desktop_config.json",
        ],
        expression: r"\.(aws|gnupg|cursor|kube)[/\\][\w.]+|\.ssh[/\\](id_\w+|config|\*)?([^.\w]|\.\W|\.$|$)|\bid_(rsa|ed25519)([^.\w]|\.\W|\.$|$)|\bmcp\.json\b.{0,80}\b(content|read|pass|send)|\b(read|pass|send|include)\b.{0,80}\b(mcp\.json|claude_desktop_config\.json)\b",
    },
    Pattern {
        kind: Exfiltration,
        needs: &[
            "system prompt|conversation|chat history|chat log|message history|message log|previous messages|context|api key|credentials|secrets|passwords|environment variables",
        ],
        expression: r"\b(send|pass|include|attach|append|forward|upload|post|put|copy|supply|provide)\b.{0,60}\b(system prompt|(conversation|chat|message) (history|log)|previous messages|(entire|full|whole) (conversation|context)|(all|any) (api keys?|credentials|secrets|passwords|environment variables))\b",
    },
    Pattern {
        kind: Markup,
        needs: &["<|[inst]|[/inst]"],
        expression: r"<\s*/?\s*(important|system|instructions?|hidden|admin|critical|assistant|system-reminder|sys)\s*>|\[/?INST\]|<\|(im_start|im_end|system|user|assistant)\|>|<<\s*/?SYS\s*>>",
    },
    Pattern {
        kind: Promotion,
        needs: &[
            "is the best|is the only|is the most |is the number one|is the preferred|is the recommended|is the superior| than any other| than all other| than every other|other tools |other functions |other servers ",
        ],
        expression: r"\b(this is|it is|is) the (best|only|most (reliable|accurate|powerful|trusted)|number one|preferred|recommended|superior) (\w+ )?(tool|function|server|choice|option)\b|\b(better|more (reliable|accurate|effective|trusted)) than (any|all|every) other\b|\bother (tools|functions|servers) (are|is|have been) (deprecated|unreliable|insecure|broken|outdated|unsafe|disabled)\b",
    },
];

impl Pattern {
    /// Returns `true` if the expression may match a text.
    fn may_match(&self, lower: &str) -> bool {
        self.needs.iter().all(|words| words.split('|').any(|word| lower.contains(word)))
    }

    fn compiled(&self) -> Regex {
        let built = RegexBuilder::new(self.expression)
            .case_insensitive(true)
            .dot_matches_new_line(true)
            .build();
        built.expect("the patterns are fixed and compile. This is a bug.")
    }
}

/// The expressions, each compiled on first use.
static COMPILED: [OnceLock<Regex>; PATTERNS.len()] = [const { OnceLock::new() }; PATTERNS.len()];

/// Returns what is suspicious in one tool: the first finding of each kind in each field. Every
/// field that is passed on to a model is checked.
pub fn suspicions(tool: &Tool) -> Vec<Suspicion> {
    let title = tool.title.as_deref().unwrap_or_default();
    let mut found = Vec::new();
    // A model also reads the words of a name, such as `ignore_previous_instructions`.
    find_in_text("name", &split_identifier(&tool.name), &mut found);
    find_hidden("name", &tool.name, &mut found);
    find_stuffing("name", &clean(&tool.name), &mut found);
    for (field, text) in [("title", title), ("description", &tool.description)] {
        find_in_text(field, text, &mut found);
        find_hidden(field, text, &mut found);
        find_stuffing(field, &clean(text), &mut found);
    }
    if let Some(schema) = &tool.input_schema {
        find_in_json("input_schema", schema.as_str(), &mut found);
    }
    let members: BTreeMap<&str, &RawValue> = tool
        .mcp
        .as_ref()
        .and_then(|members| serde_json::from_str(members.as_str()).ok())
        .unwrap_or_default();
    for member in MCP_MEMBERS {
        if let Some(value) = members.get(member) {
            find_in_json(member, value.get(), &mut found);
        }
    }
    found
}

/// Searches the names and texts of a JSON value like [`find_in_text`], with its escapes decoded.
fn find_in_json(field: &'static str, json: &str, found: &mut Vec<Suspicion>) {
    let mut texts = String::new();
    match serde_json::from_str(json) {
        Ok(value) => append_texts(&value, &mut texts),
        // The value is nested deeper than the parser allows.
        Err(_) => texts.push_str(json),
    }
    find_in_text(field, &texts, found);
    find_hidden(field, &texts, found);
}

/// Appends every name and every text in a value, one per line.
fn append_texts(value: &Value, texts: &mut String) {
    match value {
        Value::String(text) => texts.extend([text, "\n"]),
        Value::Array(items) => items.iter().for_each(|item| append_texts(item, texts)),
        Value::Object(members) => {
            for (name, member) in members {
                texts.extend([name, "\n"]);
                append_texts(member, texts);
            }
        }
        _ => {}
    }
}

fn find_hidden(field: &'static str, text: &str, found: &mut Vec<Suspicion>) {
    let unseen = count_hidden(text);
    if unseen > 0 {
        let said = format!("{unseen} in {}", shown(&clean(text)));
        found.push(Suspicion { kind: SuspicionKind::Hidden, field, found: said });
    }
}

fn find_in_text(field: &'static str, text: &str, found: &mut Vec<Suspicion>) {
    let text = clean(text);
    let lower = text.to_lowercase();
    let mut kinds = Vec::new();
    for (pattern, compiled) in PATTERNS.iter().zip(&COMPILED) {
        let kind = pattern.kind;
        if kinds.contains(&kind) || !pattern.may_match(&lower) {
            continue;
        }
        if let Some(here) = compiled.get_or_init(|| pattern.compiled()).find(&text) {
            kinds.push(kind);
            found.push(Suspicion { kind, field, found: shown(here.as_str()) });
        }
    }
}

/// Reports a text that loses more than a tenth of its bytes when repetitions are removed.
fn find_stuffing(field: &'static str, text: &str, found: &mut Vec<Suspicion>) {
    let left = without_stuffing(text).len();
    if left < text.len() && (text.len() - left) * 10 > text.len() {
        found.push(Suspicion { kind: SuspicionKind::Stuffing, field, found: shown(text) });
    }
}

fn shown(text: &str) -> String {
    shortened(&one_line(text), SHOWN)
}

/// Returns the tools that imitate a tool of another server, as pairs of rows: the clone, and the
/// earlier tool that it imitates. Either their names look the same but are not (`read_fiIe`), or
/// both the names and the descriptions are the same. Equal names alone are common, and the servers'
/// names distinguish them.
pub fn clones(tools: &[Arc<Tool>]) -> Vec<(u32, u32)> {
    let mut alike: HashMap<String, Vec<u32>> = HashMap::new();
    for (row, tool) in (0u32..).zip(tools) {
        alike.entry(skeleton(&tool.name)).or_default().push(row);
    }
    let mut found: Vec<(u32, u32)> =
        alike.values().flat_map(|rows| clones_among(rows, tools)).collect();
    found.sort_unstable();
    found
}

/// The maximum number of tools of one name among which clones are searched. More tools than that
/// are not an imitation.
const MOST_ALIKE: usize = 64;

fn clones_among(rows: &[u32], tools: &[Arc<Tool>]) -> Vec<(u32, u32)> {
    let rows = &rows[..rows.len().min(MOST_ALIKE)];
    let tool = |row: u32| &*tools[row as usize];
    let imitates = |clone: u32, of: u32| {
        let (clone, of) = (tool(clone), tool(of));
        clone.server != of.server
            && (comparable(&clone.name) != comparable(&of.name)
                || !of.description.is_empty()
                    && skeleton(&clone.description) == skeleton(&of.description))
    };
    let later = rows.iter().enumerate().skip(1);
    later
        .filter_map(|(at, &row)| Some((row, *rows[..at].iter().find(|&&of| imitates(row, of))?)))
        .collect()
}

/// Returns a text as it looks at a glance: letters of other scripts and digits that look like Latin
/// letters are replaced by Latin letters.
fn skeleton(text: &str) -> String {
    comparable(&clean(text))
        .chars()
        .map(|letter| match letter {
            'а' | 'α' => 'a',
            'в' | 'ь' => 'b',
            'с' | 'ϲ' => 'c',
            'е' | 'є' => 'e',
            'һ' => 'h',
            'і' | 'ι' | '1' | 'l' | 'ı' => 'i',
            'ј' => 'j',
            'к' | 'κ' => 'k',
            'м' => 'm',
            'п' => 'n',
            'о' | 'ο' | '0' => 'o',
            'р' | 'ρ' => 'p',
            'ѕ' => 's',
            'т' | 'τ' => 't',
            'υ' => 'u',
            'ν' => 'v',
            'ԝ' => 'w',
            'х' | 'χ' => 'x',
            'у' | 'γ' => 'y',
            other => other,
        })
        .collect()
}

#[cfg(test)]
mod tests;
