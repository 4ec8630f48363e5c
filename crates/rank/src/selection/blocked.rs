//! Tools that are not to be called now: they failed lately, and are left alone for a while.

use std::collections::BTreeSet;

use toolroute_catalog::Tool;

use super::policy::Exclusion;

/// Servers and tools whose circuit breakers are open, as whoever calls tools says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocked {
    /// By name; the empty one is that of tools without a server.
    pub servers: BTreeSet<String>,
    /// By id.
    pub tools: BTreeSet<String>,
}

impl Blocked {
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty() && self.tools.is_empty()
    }

    /// Lets the tool pass, or says that it or its server is left alone.
    ///
    /// # Errors
    /// The reason for which the tool is left out.
    pub fn admit(&self, tool: &Tool) -> Result<(), Exclusion> {
        if self.is_empty() {
            return Ok(());
        }
        let server = tool.server.as_deref().unwrap_or_default();
        if self.servers.contains(server) {
            return Err(Exclusion::BreakerOpen { server: Some(server.to_owned()) });
        }
        if self.tools.contains(tool.id.as_str()) {
            return Err(Exclusion::BreakerOpen { server: None });
        }
        Ok(())
    }
}
