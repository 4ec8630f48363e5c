//! Checks the lists of servers against pins, and reports to the user which tools are held back.

use std::collections::BTreeMap;
use std::sync::Arc;

use toolroute_catalog::Tool;
use toolroute_run::pins::{Mode, Pins, Screened};

/// Pins, and the fingerprints by which they identify the servers.
#[derive(Clone)]
pub struct Screening {
    pub pins: Pins,
    /// The fingerprint of each server's entry in the servers file, by server. A different entry
    /// with the same name is a different server.
    pub fingerprints: BTreeMap<String, String>,
    pub notes: Notes,
}

impl Screening {
    /// Splits a server's list into the tools that may be used and those that are held back, and
    /// reports the latter to the user. If pins cannot be checked, all tools are held back.
    pub(crate) fn screen(&self, server: &str, tools: Vec<Tool>) -> Screened {
        let screened = self.pins.screen(server, self.fingerprint(server), tools);
        screened.notes.iter().for_each(|note| self.notes.tell(note));
        screened
    }

    /// Checks tools of an earlier list again, without a report to the user. Nothing is pinned, unless
    /// the pins could not be used when the list came.
    pub(super) fn check_again(
        &self,
        server: &str,
        tools: Vec<Tool>,
        was_checked: bool,
    ) -> Screened {
        let fingerprint = self.fingerprint(server);
        match was_checked {
            true => self.pins.screen_again(server, fingerprint, tools),
            false => self.pins.screen(server, fingerprint, tools),
        }
    }

    fn fingerprint(&self, server: &str) -> &str {
        self.fingerprints.get(server).map_or("", String::as_str)
    }

    /// Whether a person must approve a tool of a server before anything else of the server is
    /// shown.
    pub(crate) fn needs_approval(&self) -> bool {
        self.pins.mode() == Mode::Strict
    }
}

/// Receives lines for the user, such as warnings about pins. The default writes them to the
/// program's log.
#[derive(Clone)]
pub struct Notes(Arc<dyn Fn(&str) + Send + Sync>);

impl Notes {
    /// Passes each line to a function.
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
