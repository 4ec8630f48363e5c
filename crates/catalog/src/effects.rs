//! What a call of a tool may do, decided once from everything that is known about the tool.

use std::collections::HashSet;
use std::fmt;
use std::sync::LazyLock;

use serde::Serialize;

use crate::text::split_identifier;
use crate::tool::Tool;

/// What a call may do, and how that is known.
///
/// Permissions, retries, fallbacks, the conductor and the stages of the selection all use this
/// value, so that "only reads" means the same everywhere.
///
/// ```
/// use toolroute_catalog::{EffectKind, EffectSource, Tool};
///
/// let mut tool = Tool::new(Some("git"), "get_status", "");
/// assert_eq!(tool.effects().kind, EffectKind::ReadsOnly);
/// assert_eq!(tool.effects().from, EffectSource::Name);
/// tool.hints.read_only = Some(false);
/// assert_eq!(tool.effects().kind, EffectKind::Writes);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Effects {
    pub kind: EffectKind,
    /// Whether a second call with the same arguments changes nothing more. Such a call may be sent
    /// again if it is unknown whether it arrived. Only a declaration sets this, never a name:
    /// `get_next_ticket` takes a ticket each time.
    pub idempotent: bool,
    pub from: EffectSource,
}

/// The worst effect that a call may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EffectKind {
    /// It changes nothing.
    ReadsOnly,
    /// It changes something but, as far as is known, destroys nothing.
    Writes,
    /// It may destroy something.
    Destructive,
    /// Its effects are unknown.
    Unknown,
}

/// The source of the knowledge about the effects, the most certain first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EffectSource {
    /// The user's overlay declares them.
    Overlay,
    /// The tool's author declares them, in MCP's annotations or in a catalog's row.
    Hint,
    /// The method of the tool's HTTP operation implies them (RFC 9110, section 9.2).
    Type,
    /// A verb in the tool's name suggests them.
    Name,
    /// There is no source.
    Nothing,
}

/// Verbs in names of tools that destroy something.
static DESTROYS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "delete remove drop destroy purge erase wipe truncate uninstall revoke kill overwrite"
        .split(' ')
        .collect()
});

/// Verbs in names of tools that change something.
static WRITES: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "add append apply approve archive assign book cancel close commit copy create deploy \
     disable edit enable execute insert install invite merge modify move patch pay post \
     publish push put rename replace reset restart run save schedule send set start stop \
     submit sync turn update upload write"
        .split(' ')
        .collect()
});

/// Verbs in names of tools that only read.
static READS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "analyze browse check compare count describe fetch find get grep inspect list lookup \
     query read reason research search show summarize validate view"
        .split(' ')
        .collect()
});

impl Effects {
    /// Returns `true` if a call changes nothing, even if only the tool's name suggests it.
    pub fn reads_only(self) -> bool {
        self.kind == EffectKind::ReadsOnly
    }

    /// Returns `true` if a call changes nothing, according to a declaration and not only to the
    /// tool's name.
    pub fn declares_reads_only(self) -> bool {
        self.reads_only() && self.from != EffectSource::Name
    }

    /// Returns `true` if a call may destroy something.
    pub fn destroys(self) -> bool {
        self.kind == EffectKind::Destructive
    }
}

impl EffectKind {
    /// Returns its name in tables and sentences.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadsOnly => "reads only",
            Self::Writes => "writes",
            Self::Destructive => "may destroy",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for EffectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Tool {
    /// Returns what a call of the tool may do.
    ///
    /// A declaration takes precedence over the name. If two declarations contradict each other, the
    /// worse one counts: a tool that declares both that it only reads and that it destroys may
    /// destroy.
    pub fn effects(&self) -> Effects {
        let hints = self.hints;
        let declared = match () {
            () if hints.from_overlay => EffectSource::Overlay,
            () if self.operation.is_some() => EffectSource::Type,
            () => EffectSource::Hint,
        };
        let by_name = kind_of_name(&self.name);
        let (kind, from) = match (hints.read_only, hints.destructive) {
            (_, Some(true)) => (EffectKind::Destructive, declared),
            (Some(true), _) => (EffectKind::ReadsOnly, declared),
            (_, Some(false)) => (EffectKind::Writes, declared),
            (Some(false), None) if by_name == EffectKind::Destructive => {
                (EffectKind::Destructive, EffectSource::Name)
            }
            (Some(false), None) => (EffectKind::Writes, declared),
            (None, None) if by_name == EffectKind::Unknown => match hints.idempotent {
                Some(true) => (EffectKind::Unknown, declared),
                _ => (EffectKind::Unknown, EffectSource::Nothing),
            },
            (None, None) => (by_name, EffectSource::Name),
        };
        let declares_reads_only = kind == EffectKind::ReadsOnly && from != EffectSource::Name;
        let idempotent = hints.idempotent == Some(true) || declares_reads_only;
        Effects { kind, idempotent, from }
    }
}

/// Returns `true` if a word of a name is a verb that only reads.
pub(super) fn is_reading_verb(word: &str) -> bool {
    READS.contains(word)
}

/// Derives the effects from a name. The first verb decides: in `get_run` the second word is a noun.
/// A verb after `and` or `or` counts too, because `find_and_replace` replaces, and a verb that
/// destroys counts at any position.
fn kind_of_name(name: &str) -> EffectKind {
    let words = split_identifier(name).to_lowercase();
    let words: Vec<&str> = words.split_whitespace().collect();
    let is_joined = |at: usize| at > 0 && matches!(words[at - 1], "and" | "or");
    let mut kind = EffectKind::Unknown;
    for (at, word) in words.iter().enumerate() {
        if DESTROYS.contains(word) {
            return EffectKind::Destructive;
        }
        let first = kind == EffectKind::Unknown;
        if WRITES.contains(word) && (first || is_joined(at) || *word == "execute") {
            kind = EffectKind::Writes;
        } else if READS.contains(word) && first {
            kind = EffectKind::ReadsOnly;
        }
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_suggests_what_its_first_verb_does() {
        for (name, kind) in [
            ("datagov_query", EffectKind::ReadsOnly),
            ("perplexity-search", EffectKind::ReadsOnly),
            ("get_run", EffectKind::ReadsOnly),
            ("getDeletedItems", EffectKind::ReadsOnly),
            ("find_and_replace", EffectKind::Writes),
            ("get_or_create_user", EffectKind::Writes),
            ("sql_query_execute", EffectKind::Writes),
            ("run_query", EffectKind::Writes),
            ("list_and_delete", EffectKind::Destructive),
            ("deleteFile", EffectKind::Destructive),
            ("frobnicate", EffectKind::Unknown),
        ] {
            assert_eq!(kind_of_name(name), kind, "{name}");
        }
    }

    #[test]
    fn declarations_count_over_the_name_and_the_worse_of_two_counts() {
        let effects = |name: &str, read_only, destructive, idempotent| {
            let mut tool = Tool::new(None, name, "");
            tool.hints.read_only = read_only;
            (tool.hints.destructive, tool.hints.idempotent) = (destructive, idempotent);
            tool.effects()
        };
        let of = |kind, idempotent, from| Effects { kind, idempotent, from };
        use EffectKind::{Destructive, ReadsOnly, Unknown, Writes};
        use EffectSource::{Hint, Name, Nothing};
        assert_eq!(effects("delete", Some(true), None, None), of(ReadsOnly, true, Hint));
        assert_eq!(effects("read", Some(true), Some(true), None), of(Destructive, false, Hint));
        assert_eq!(effects("remove", None, Some(false), None), of(Writes, false, Hint));
        assert_eq!(effects("remove", Some(false), None, None), of(Destructive, false, Name));
        assert_eq!(effects("read", None, None, None), of(ReadsOnly, false, Name));
        assert_eq!(effects("update", None, None, Some(true)), of(Writes, true, Name));
        assert_eq!(effects("zap", None, None, None), of(Unknown, false, Nothing));
        assert!(!effects("read", None, None, None).declares_reads_only());
    }
}
