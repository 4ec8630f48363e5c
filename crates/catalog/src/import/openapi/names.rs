//! Names operations that have no `operationId`.

use std::collections::{HashMap, HashSet};

use super::{Operation, slug};

/// The names of the operations without an `operationId`, by method and path.
pub(super) type Names<'a> = HashMap<(&'a str, &'a str), String>;

pub(super) fn operation_id<'a>(at: &Operation<'a>) -> Option<&'a str> {
    at.operation["operationId"].as_str().filter(|id| !id.trim().is_empty())
}

/// Names operations by method and path: `GET /users/{me}` becomes `get_users_me`, or
/// `get_users_by_me` if that name is taken, or the latter with a number. The path with the fewest
/// parameters gets the plain name, so that the names do not depend on the order of the document.
pub(super) fn by_path<'a>(operations: impl Iterator<Item = Operation<'a>>) -> Names<'a> {
    let mut taken = HashSet::new();
    let mut nameless = Vec::new();
    for at in operations {
        match operation_id(&at) {
            Some(name) => _ = taken.insert(name.to_owned()),
            None => nameless.push((at.path.matches('{').count(), at.path, at.method)),
        }
    }
    nameless.sort_unstable();
    // Plain names are assigned first, so that a numbered name never takes a unique one.
    let plain = |path: &str, method: &str| slug(&format!("{method} {path}"), '_');
    let mut names = Names::new();
    let mut late = Vec::new();
    for (_, path, method) in nameless {
        let name = plain(path, method);
        if taken.insert(name.clone()) {
            names.insert((method, path), name);
        } else {
            late.push((path, method));
        }
    }
    for (path, method) in late {
        let name = first_free_name(&plain(&path.replace('{', " by "), method), |name| {
            taken.contains(name)
        });
        taken.insert(name.clone());
        names.insert((method, path), name);
    }
    names
}

/// Returns the name, or, if it is taken, the name with the first number from 2 on that makes it
/// unique.
pub(super) fn first_free_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !is_taken(name)).expect("numbers do not end. This is a bug.")
}
