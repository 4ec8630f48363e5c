//! Checks the lists of servers against pins, and tells the user what is held back.

use std::collections::BTreeMap;
use std::sync::Arc;

use toolroute_catalog::Tool;
use toolroute_rank::engine::HeldTool;
use toolroute_run::pins::{Mode, Pins};

/// Pins, and what they know the servers by.
#[derive(Clone)]
pub struct Screening {
    pub pins: Pins,
    /// By server, the fingerprint of its entry in the servers file: under another entry, the same name is
    /// another server.
    pub fingerprints: BTreeMap<String, String>,
    pub notes: Notes,
}

impl Screening {
    /// The tools of a server's list that may be used, and those that are held back. The user is told of
    /// the second. Where pins cannot be checked, all tools are held back.
    pub(crate) fn screen(&self, server: &str, tools: Vec<Tool>) -> (Vec<Tool>, Vec<HeldTool>) {
        let fingerprint = self.fingerprints.get(server).map_or("", String::as_str);
        let screened = self.pins.screen(server, fingerprint, tools);
        screened.notes.iter().for_each(|note| self.notes.tell(note));
        let held = screened.held.into_iter();
        let held = held.map(|(tool, because)| HeldTool { tool: Arc::new(tool), because });
        (screened.accepted, held.collect())
    }

    /// Whether a person must approve a tool of a server before anything else of the server is shown.
    pub(crate) fn needs_approval(&self) -> bool {
        self.pins.mode() == Mode::Strict
    }
}

/// Takes lines for the user, such as warnings of pins. The default writes them to the program's log.
#[derive(Clone)]
pub struct Notes(Arc<dyn Fn(&str) + Send + Sync>);

impl Notes {
    pub fn new(tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    pub(crate) fn tell(&self, line: &str) {
        (self.0)(line);
    }
}

impl Default for Notes {
    fn default() -> Self {
        Self::new(|line| tracing::warn!("{line}"))
    }
}
