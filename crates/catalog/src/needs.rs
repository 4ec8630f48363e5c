//! The tools that give the ids which another tool requires: `GET /tv/{tv_id}/credits` cannot be called
//! before a search for the show.

use crate::effects::Effects;
use crate::text::split_identifier;
use crate::{Catalog, Facet, Tool, ToolId};

/// A required parameter that is an id, and the tools that give such ids.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Need {
    pub parameter: String,
    /// Tools of the same server, those with the fewest words in their names first.
    pub from: Vec<ToolId>,
}

/// Tools that are named for one parameter, at most.
const MOST: usize = 3;

impl Catalog {
    /// The ids that a tool requires, each with the tools that give it: tools of the same server that only
    /// read or create, name the id's entity and do not require the id themselves.
    pub fn needs(&self, tool: &Tool) -> Vec<Need> {
        let ids = required(tool).into_iter().filter_map(|name| Some((entity(&name)?, name)));
        let Some(server) = &tool.server else { return Vec::new() };
        let rows = self.facets().rows(Facet::Server, server);
        let need = |(entity, parameter): (String, String)| {
            let mut from: Vec<(usize, &ToolId)> = rows
                .iter()
                .map(|row| self.tools()[*row as usize].as_ref())
                .filter(|other| other.id != tool.id)
                .filter_map(|other| {
                    Some((words_if_it_gives(other, &entity, &parameter)?, &other.id))
                })
                .collect();
            from.sort();
            let from: Vec<ToolId> = from.into_iter().take(MOST).map(|(_, id)| id.clone()).collect();
            (!from.is_empty()).then_some(Need { parameter, from })
        };
        ids.filter_map(need).collect()
    }
}

/// The entity of an id parameter: `tv` of `tv_id`, `playlist` of `playlistId`.
fn entity(parameter: &str) -> Option<String> {
    let words = split_identifier(parameter).to_lowercase();
    let (entity, last) = words.rsplit_once(' ')?;
    let entity = entity.rsplit(' ').next().unwrap_or(entity);
    matches!(last, "id" | "ids" | "uuid" | "key").then(|| singular(entity).to_owned())
}

/// The number of words in the tool's name where it gives ids of the entity; `None` where it does not.
fn words_if_it_gives(tool: &Tool, entity: &str, parameter: &str) -> Option<usize> {
    let words = split_identifier(&tool.name).to_lowercase();
    let names_it = words.split_whitespace().any(|word| singular(word) == entity);
    let reads = tool.effects().reads_only() || makes(tool.effects(), &words);
    let needs_it_too = required(tool).iter().any(|name| name == parameter);
    (names_it && reads && !needs_it_too).then(|| words.split_whitespace().count())
}

/// Whether a tool creates something: it then gives the id of that.
fn makes(effects: Effects, words: &str) -> bool {
    !effects.destroys() && words.split_whitespace().any(|word| word == "create")
}

fn singular(word: &str) -> &str {
    word.strip_suffix('s').filter(|stem| stem.len() > 2 && !stem.ends_with('s')).unwrap_or(word)
}

fn required(tool: &Tool) -> Vec<String> {
    let schema = tool.input_schema.as_ref().and_then(|schema| schema.to_value());
    let schema = schema.unwrap_or_default();
    let names = schema["required"].as_array().into_iter().flatten();
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;
    use crate::Schema;

    fn tool(name: &str, required: &[&str]) -> Tool {
        let mut tool = Tool::new(Some("tmdb"), name, "");
        let schema = to_raw_value(&json!({"type": "object", "required": required})).unwrap();
        tool.input_schema = Some(Schema::new(schema));
        tool
    }

    #[test]
    fn an_id_comes_from_what_searches_lists_or_creates_it() {
        let tools = vec![
            tool("get_tv_credits", &["tv_id", "language"]),
            tool("search_tv", &["query"]),
            tool("get_tv_details", &["tv_id"]),
            tool("delete_tv", &["query"]),
            tool("search_movies", &["query"]),
            tool("add_to_playlist", &["playlistId", "movie_id"]),
            tool("create_playlist", &["name"]),
            tool("list_my_playlists_of_friends", &[]),
        ];
        let catalog = Catalog::from_tools(tools).catalog;
        let needs = |name: &str| -> Vec<(String, Vec<String>)> {
            let needs = catalog.needs(catalog.get(name).unwrap());
            let of =
                |need: Need| (need.parameter, need.from.iter().map(ToString::to_string).collect());
            needs.into_iter().map(of).collect()
        };
        assert_eq!(needs("get_tv_credits"), [("tv_id".into(), vec!["tmdb__search_tv".into()])]);
        let of_list = needs("add_to_playlist");
        let from = vec![
            "tmdb__create_playlist".to_owned(),
            "tmdb__list_my_playlists_of_friends".to_owned(),
        ];
        assert_eq!(of_list[0], ("playlistId".to_owned(), from));
        assert_eq!(of_list[1], ("movie_id".to_owned(), vec!["tmdb__search_movies".to_owned()]));
        assert_eq!(needs("search_tv"), []);
    }
}
