//! `[profiles]`: which tools a kind of work needs.

use std::collections::BTreeMap;

use serde::Deserialize;

pub type Profiles = BTreeMap<String, ProfileSettings>;

/// One profile: a list of patterns over ids, or a table that says more.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "ProfileEntry")]
pub struct ProfileSettings {
    pub tools: Vec<String>,
    pub servers: Vec<String>,
    /// The rest is for the gateway.
    pub pinned: Vec<String>,
    pub limit: Option<usize>,
    pub query: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ProfileEntry {
    Patterns(Vec<String>),
    Table(ProfileTable),
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ProfileTable {
    tools: Vec<String>,
    servers: Vec<String>,
    pinned: Vec<String>,
    limit: Option<usize>,
    query: Option<String>,
}

impl From<ProfileEntry> for ProfileSettings {
    fn from(entry: ProfileEntry) -> Self {
        match entry {
            ProfileEntry::Patterns(tools) => Self { tools, ..Self::default() },
            ProfileEntry::Table(ProfileTable { tools, servers, pinned, limit, query }) => {
                Self { tools, servers, pinned, limit, query }
            }
        }
    }
}

impl ProfileSettings {
    /// The patterns over ids; a profile that names none has all tools.
    pub fn patterns(&self) -> Vec<String> {
        if self.tools.is_empty() { vec!["*".to_owned()] } else { self.tools.clone() }
    }
}
