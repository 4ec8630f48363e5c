//! Replaces the catalog and the configuration while requests are answered.

use std::sync::Arc;

use tokio::runtime::Handle;
use toolroute_catalog::Catalog;
use toolroute_rank::engine::Engine;

use super::{Assembly, Inheritance};
use crate::error::with_causes;
use crate::service::{Service, differences};

/// The files that an assembly is read from. Implemented by the program that knows them.
pub trait Sources: Send + Sync {
    /// Reads the sources again. If the model is the same as before, the assembly must hold the same
    /// `Arc`; with another one, the engine is rebuilt.
    ///
    /// # Errors
    /// What is wrong with the sources. The current service then stays as it is.
    fn read(&self) -> Result<Assembly, Box<dyn std::error::Error + Send + Sync>>;

    /// A number that changes when the sources change; `None` if they are not watched. Called often.
    fn stamp(&self) -> Option<u64> {
        None
    }

    /// Called with each service that a reload builds.
    fn built(&self, _service: &Service) {}
}

/// What a reload did.
pub(crate) enum RebuildResult {
    /// The current service stays; this number of its tools were added, changed or removed.
    InPlace { changed: usize },
    /// A new service replaces the current one.
    Service(Arc<Service>),
}

/// Applies an assembly: changes the catalog of the current service if nothing else differs, or
/// builds a new service. Blocks, and must be called on a thread of a runtime's blocking pool.
pub(crate) fn rebuild(assembly: Assembly, present: &Arc<Service>) -> Result<RebuildResult, String> {
    let screened = assembly.screened().map_err(|error| with_causes(&error))?;
    let parts = assembly.parts();
    if *present.engine().config() == assembly.config && present.options.parts == parts {
        let changed = replace_catalog(present.engine(), &screened.0)?;
        present.set_hidden(screened.1);
        Handle::current().spawn(present.ask_first(assembly.first_lists()));
        return Ok(RebuildResult::InPlace { changed });
    }
    // Running servers are kept if their entries and the options of their calls are unchanged.
    let executor = present.executor().filter(|_| parts.have_same_servers(&present.options.parts));
    let inheritance = Inheritance {
        executor: executor.cloned(),
        sessions: Some(Arc::clone(present.sessions())),
        changes: Some(Arc::clone(&present.options.changes)),
    };
    let next = assembly.build_over(screened, inheritance).map_err(|error| with_causes(&error))?;
    let runtime = Handle::current();
    runtime.spawn(next.start());
    // The current service answers until then.
    runtime.block_on(next.first_lists());
    Ok(RebuildResult::Service(next))
}

/// Makes the engine's catalog equal to `wanted`. Returns the number of tools that differ.
fn replace_catalog(engine: &Engine, wanted: &Catalog) -> Result<usize, String> {
    let changes = differences(&engine.catalog(), wanted, None);
    let count = changes.len();
    if count > 0 {
        engine.change(changes).map_err(|error| with_causes(&error))?;
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use toolroute_catalog::Tool;

    use super::*;

    #[test]
    fn the_differences_of_two_catalogs_make_one_of_the_other() {
        let tool = |name: &str, text: &str| Tool::new(Some("s"), name, text);
        let of = |tools| Catalog::from_tools(tools).catalog;
        let before = of(vec![tool("a", "same"), tool("b", "old"), tool("c", "removed")]);
        let after = of(vec![tool("b", "new"), tool("a", "same"), tool("d", "added")]);
        let engine = Engine::builder(before).build().unwrap();
        assert_eq!(replace_catalog(&engine, &after).unwrap(), 3);
        let mut ids: Vec<String> = engine
            .catalog()
            .iter()
            .map(|tool| format!("{} {}", tool.id, tool.description))
            .collect();
        ids.sort();
        assert_eq!(ids, ["s__a same", "s__b new", "s__d added"]);
        assert_eq!(replace_catalog(&engine, &after).unwrap(), 0);
    }

    #[tokio::test]
    async fn a_changed_catalog_is_taken_in_place_and_changed_options_build_a_service() {
        let catalog = |names: &[&str]| {
            let tools = names.iter().map(|name| Tool::new(Some("s"), name, "Adds numbers"));
            Catalog::from_tools(tools.collect()).catalog
        };
        let first = Assembly { catalog: catalog(&["a"]), ..Assembly::default() };
        let service = first.clone().build().unwrap();
        let rebuilt = |assembly: Assembly, service: &Arc<Service>| {
            let service = Arc::clone(service);
            tokio::task::spawn_blocking(move || rebuild(assembly, &service))
        };
        let second = Assembly { catalog: catalog(&["a", "b"]), ..first };
        let done = rebuilt(second.clone(), &service).await.unwrap().unwrap();
        assert!(matches!(done, RebuildResult::InPlace { changed: 1 }));
        let mut third = second;
        third.config.limit += 1;
        let RebuildResult::Service(next) = rebuilt(third, &service).await.unwrap().unwrap() else {
            panic!("a service is built where the configuration differs")
        };
        assert_eq!(next.catalog().len(), 2);
        assert!(Arc::ptr_eq(next.sessions(), service.sessions()));
    }
}
