//! The object of a call: what "it" means in the next prompt.

use std::collections::HashSet;

use serde_json::Value;
use toolroute_catalog::{Schema, Tool, properties, required, words_of};

/// Returns the object of an answered call that may have changed something: what the tool's name is about
/// and the result or a required parameter has an id of, `pick list` for `create_pick_list` with a
/// `pick_list_id`; otherwise the only new id of the result, or what the tool requires. `None` for a tool
/// that only reads, without an id, and where several new ones could be meant.
pub fn object_of(tool: &Tool, result: &Value) -> Option<String> {
    if tool.effects().reads_only() {
        return None;
    }
    let schema = tool.input_schema.as_ref().and_then(Schema::to_value).unwrap_or_default();
    let parameters: HashSet<&String> = properties(&schema).map(|(name, _)| name).collect();
    let members: Vec<&String> = result.as_object().into_iter().flat_map(|m| m.keys()).collect();
    let (old, new): (Vec<&String>, Vec<&String>) =
        members.into_iter().partition(|name| parameters.contains(name));
    let entity = |name: &str| {
        let words = words_of(name);
        let (last, entity) = words.split_last()?;
        (last == "id" && !entity.is_empty()).then(|| entity.join(" "))
    };
    let new: Vec<String> = new.into_iter().filter_map(|name| entity(name)).collect();
    let old = old.into_iter().map(String::as_str).chain(required(&schema)).filter_map(entity);
    let old: Vec<String> = old.collect();
    let name = words_of(&tool.name);
    let is_named = |entity: &&String| entity.split(' ').all(|word| name.iter().any(|w| w == word));
    if let Some(named) = new.iter().chain(&old).find(is_named) {
        return Some(named.clone());
    }
    match new.as_slice() {
        [] => old.into_iter().next(),
        [one] => Some(one.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{json, value::to_raw_value};

    use super::*;

    #[test]
    fn the_object_is_what_the_call_made_or_else_what_it_took() {
        let tool = |name: &str, parameter: &str| {
            let schema =
                json!({"properties": {parameter: {"type": "string"}}, "required": [parameter]});
            let mut tool = Tool::new(Some("s"), name, "Does it");
            tool.input_schema = Some(Schema::new(to_raw_value(&schema).unwrap()));
            tool
        };
        let text = json!("closed");
        let made = json!({"orderId": "O-1", "pick_list_id": "PL-1"});
        let order = json!({"customer_id": "C-1", "order_id": "O-7", "trace_id": "t"});
        for (name, parameter, result, object) in [
            ("create_pick_list", "orderId", &made, Some("pick list")),
            ("close_ticket", "ticketId", &text, Some("ticket")),
            ("create_order", "sku", &order, Some("order")),
            ("check_out_basket", "sku", &order, None),
            ("adjust_stock", "sku", &text, None),
            ("get_pick_list", "pick_list_id", &made, None),
        ] {
            let found = object_of(&tool(name, parameter), result);
            assert_eq!(found.as_deref(), object, "{name}");
        }
    }
}
