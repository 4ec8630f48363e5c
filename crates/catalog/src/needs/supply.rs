//! The tools of one server that give ids of an entity.

use super::Supplier;
use super::entity::{FILLERS, IdParameter, objects, without_placeholders};
use crate::Tool;
use crate::effects::{EffectKind, is_reading_verb, writes};
use crate::singular;
use crate::text::{tokens, words_of};

/// A tool that may give ids.
pub struct Giver<'a> {
    row: u32,
    tool: &'a Tool,
    kind: EffectKind,
    /// The words of its name, in the singular.
    name: Vec<String>,
    objects: Vec<String>,
    requires: &'a [IdParameter],
}

impl Giver<'_> {
    /// Whether it declares that it requires an id of the entity.
    fn requires(&self, noun: &str) -> bool {
        let mut declared = self.requires.iter().filter(|parameter| parameter.is_declared);
        declared.any(|parameter| parameter.entity.last().is_some_and(|last| last == noun))
    }
}

/// Verbs that find something by words.
const SEARCHES: [&str; 5] = ["browse", "find", "list", "lookup", "search"];

/// The tools of a server that read or create. `required` is in the order of the tools.
pub fn givers<'a>(tools: &[(u32, &'a Tool)], required: &'a [Vec<IdParameter>]) -> Vec<Giver<'a>> {
    let giver = |((row, tool), requires): (&(u32, &'a Tool), &'a Vec<IdParameter>)| {
        let words = words_of(&without_placeholders(&tool.name));
        let name: Vec<String> = words.iter().map(|word| singular(word).into_owned()).collect();
        let (kind, gives_id) = (tool.effects().kind, ends_in_id(&name));
        let is_made = kind == EffectKind::Writes && creates(&name);
        let reads = kind == EffectKind::ReadsOnly;
        // `alerts`, `shop_orders`, `mr_list`.
        let lists = |last: &String| last == "list" || *last != singular(last);
        let is_list = words.last().is_some_and(lists) && !words.iter().any(|word| writes(word));
        let may_give = reads || is_made || kind == EffectKind::Unknown && (gives_id || is_list);
        let objects = objects(&name);
        may_give.then_some(Giver { row: *row, tool, kind, name, objects, requires })
    };
    tools.iter().zip(required).filter_map(giver).collect()
}

/// The tools that give ids of an entity, the likeliest first: those whose name says so; where there are
/// none, the server's search.
pub fn suppliers(givers: &[Giver<'_>], entity: &[String]) -> Vec<Supplier> {
    let Some(noun) = entity.last() else { return Vec::new() };
    let free = || givers.iter().filter(|giver| !giver.requires(noun));
    let named =
        |giver: &&Giver<'_>| giver.objects.contains(noun) || has_initials(&giver.name, noun);
    let named: Vec<&Giver<'_>> = free().filter(named).collect();
    if !named.is_empty() {
        return ordered(named, entity);
    }
    let searches = |giver: &&Giver<'_>| {
        let reads = giver.kind == EffectKind::ReadsOnly;
        reads && giver.objects.is_empty() && searches(&giver.name)
    };
    ordered(free().filter(searches).collect(), entity)
}

/// The tools in these rows, which a text names for an id, except those that cannot give it: they
/// require it too, or create something else.
pub fn stated_suppliers(
    givers: &[Giver<'_>],
    parameter: &IdParameter,
    rows: &[u32],
) -> Vec<Supplier> {
    let Some(noun) = parameter.entity.last() else { return Vec::new() };
    // If no schema declares it, every tool whose description names it may require it.
    let may_require = |giver: &Giver<'_>| {
        !parameter.is_declared
            && tokens(&giver.tool.description).any(|token| token == parameter.name)
    };
    let gives = |giver: &&Giver<'_>| {
        let is_other = giver.kind == EffectKind::Writes && !giver.objects.contains(noun);
        rows.contains(&giver.row) && !is_other && !giver.requires(noun) && !may_require(giver)
    };
    ordered(givers.iter().filter(gives).collect(), &parameter.entity)
}

/// The likeliest first.
fn ordered(mut found: Vec<&Giver<'_>>, entity: &[String]) -> Vec<Supplier> {
    let words = |giver: &Giver<'_>| {
        let is_other = |word: &&String| {
            !entity.contains(word) && !is_reading_verb(word) && !FILLERS.contains(word.as_str())
        };
        let missing = entity.iter().filter(|word| !giver.name.contains(word)).count();
        (missing, giver.name.iter().filter(is_other).count())
    };
    let makes = |giver: &Giver<'_>| giver.kind == EffectKind::Writes;
    found.sort_by_cached_key(|giver| {
        (makes(giver), words(giver), !searches(&giver.name), giver.tool.id.clone())
    });
    let supplier = |giver: &Giver<'_>| Supplier {
        row: giver.row,
        creates: makes(giver),
        is_exact: words(giver) == (0, 0),
    };
    found.into_iter().map(supplier).collect()
}

/// Whether a name has words that a short noun abbreviates: "purchase order" for `po_id`.
fn has_initials(name: &[String], noun: &str) -> bool {
    let initials = || {
        name.windows(noun.len()).map(|words| words.iter().filter_map(|word| word.chars().next()))
    };
    (2..=3).contains(&noun.len()) && initials().any(|initials| initials.eq(noun.chars()))
}

fn searches(name: &[String]) -> bool {
    name.iter().any(|word| SEARCHES.contains(&word.as_str()))
}

fn creates(name: &[String]) -> bool {
    name.iter().any(|word| word == "create")
}

fn ends_in_id(name: &[String]) -> bool {
    name.last().is_some_and(|last| matches!(last.as_str(), "id" | "uuid" | "guid" | "uid"))
}
