//! `[profiles]`: which tools are available for a kind of work.

use std::collections::BTreeMap;

use serde::Deserialize;

pub type Profiles = BTreeMap<String, ProfileEntry>;

/// A profile: a list of id patterns, or a table with further settings.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum ProfileEntry {
    Patterns(Vec<String>),
    Table(ProfileSettings),
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProfileSettings {
    pub tools: Vec<String>,
    pub servers: Vec<String>,
    /// The remaining fields are for the gateway.
    pub pinned: Vec<String>,
    pub limit: Option<usize>,
    pub query: Option<String>,
}

impl From<ProfileEntry> for ProfileSettings {
    fn from(entry: ProfileEntry) -> Self {
        match entry {
            ProfileEntry::Patterns(tools) => Self { tools, ..Self::default() },
            ProfileEntry::Table(settings) => settings,
        }
    }
}

impl ProfileSettings {
    /// The id patterns. A profile without patterns has all tools.
    pub fn patterns(&self) -> Vec<String> {
        if self.tools.is_empty() { vec!["*".to_owned()] } else { self.tools.clone() }
    }
}
