//! Applies pins to a whole catalog: which tools may be used, which are held back, and the messages
//! to the user.

use std::collections::{BTreeMap, HashMap};
use std::error::Error as _;

use super::{Error, PinCheck, Pins, Reason};
use toolroute_catalog::{Catalog, Tool, ToolId};

/// A server's tools after [`Pins::screen`].
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Screened {
    /// Tools that may be found and called.
    pub accepted: Vec<Tool>,
    /// Tools that may not be found or called, each with the reason. Where approval is possible, the
    /// reason names the commands that show and approve the tool.
    pub held: Vec<(Tool, String)>,
    /// Messages for the user: a warning for each tool that is held back, and a note for each
    /// accepted change.
    pub notes: Vec<String>,
    /// Why the pins cannot be read or written, if they cannot.
    pub error: Option<Error>,
}

impl Pins {
    /// Like [`Pins::check`], for a server of a servers file whose entry has this fingerprint. If
    /// the pins cannot be read or written, every tool is held back.
    #[doc(hidden)] // For our own crates.
    pub fn screen(&self, server: &str, fingerprint: &str, tools: Vec<Tool>) -> Screened {
        let listed = tools.clone();
        let checked = self.check(&Self::key(server, fingerprint), tools);
        Screened::of(server, listed, checked)
    }

    /// Like [`Pins::screen`], for tools that were screened before: those are accepted whose
    /// definitions a person has approved since, and nothing is pinned.
    #[doc(hidden)] // For our own crates.
    pub fn screen_again(&self, server: &str, fingerprint: &str, tools: Vec<Tool>) -> Screened {
        let listed = tools.clone();
        let checked = self.check_again(&Self::key(server, fingerprint), tools);
        Screened::of(server, listed, checked)
    }
}

impl Screened {
    fn of(server: &str, listed: Vec<Tool>, checked: Result<PinCheck, Error>) -> Self {
        match checked {
            Ok(checked) => {
                let notes = notes(&checked);
                let mut held = checked.quarantined;
                // Of two tools with one name, the first is accepted. No approval lets in the
                // second, so it is left out here.
                held.retain(|held| held.reason != Reason::Duplicate);
                let held = held.into_iter().map(|held| (held.tool.clone(), held.because()));
                Self { accepted: checked.accepted, held: held.collect(), notes, error: None }
            }
            Err(error) => {
                let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
                let because = format!("{error}{cause}");
                let notes = vec![format!("warning: no tool of `{server}` is used: {because}")];
                let held = listed.into_iter().map(|tool| (tool, because.clone())).collect();
                Self { accepted: Vec::new(), held, notes, error: Some(error) }
            }
        }
    }
}

fn notes(checked: &PinCheck) -> Vec<String> {
    let held = checked.quarantined.iter().map(|held| format!("warning: {held}"));
    held.chain(checked.reworded.iter().map(|tool| format!("note: {tool}"))).collect()
}

/// Returns the catalog without the tools that `screen` does not return. `screen` gets the tools of
/// each server for which `is_screened` holds, one server at a time; all other tools stay. The
/// newcomer flags are those of the returned tools.
pub fn screen_catalog(
    catalog: Catalog,
    is_screened: impl Fn(&str) -> bool,
    mut screen: impl FnMut(&str, Vec<Tool>) -> Vec<Tool>,
) -> Catalog {
    let server_of = |tool: &Tool| tool.server.clone().filter(|server| is_screened(server));
    let mut by_server: BTreeMap<String, Vec<Tool>> = BTreeMap::new();
    for tool in catalog.iter() {
        if let Some(server) = server_of(tool) {
            by_server.entry(server).or_default().push(tool.clone());
        }
    }
    let listed: usize = by_server.values().map(Vec::len).sum();
    let accepted = by_server.into_iter().flat_map(|(server, tools)| screen(&server, tools));
    let newcomers: HashMap<ToolId, bool> =
        accepted.map(|tool| (tool.id, tool.routing.newcomer)).collect();
    if newcomers.len() == listed && !newcomers.values().any(|newcomer| *newcomer) {
        return catalog;
    }
    let left = catalog.iter().filter_map(|tool| {
        let mut tool = tool.clone();
        if server_of(&tool).is_some() {
            tool.set_newcomer(*newcomers.get(&tool.id)?);
        }
        Some(tool)
    });
    Catalog::from_tools(left.collect()).catalog
}
