//! Money and percentages.

use super::*;

#[test]
fn money_of_another_currency_is_asked_about() {
    let schema =
        object(json!({"sku": {"type": "string"}, "price": {"type": "number"}}), &["sku", "price"]);
    let euros = json!({"type": "number", "description": "in euros"});
    let euros = object(json!({"sku": {"type": "string"}, "price": euros}), &["sku", "price"]);
    let told = tool("set_price", "Sets the price of an article", &euros);
    let untold = tool("set_price", "Sets the price of an article", &schema);
    for said in ["12 euros", "12 EUR", "€12", "12"] {
        let prompt = format!("set the price of A-1 to {said}");
        assert_eq!(given(&told, &prompt), json!({"sku": "A-1", "price": 12}), "{prompt}");
    }
    for said in ["12 dollars", "$12", "12 pounds", "12 cents", "500 yen", "12 USD"] {
        for tool in [&told, &untold] {
            let prompt = format!("set the price of A-1 to {said}");
            assert_eq!(asked(tool, &prompt), ["price"], "{prompt}");
        }
    }
}

#[test]
fn the_name_of_several_currencies_chooses_the_only_one_that_a_tool_lists() {
    let pay = |currencies: Value| {
        let properties = json!({"supplier_id": {"type": "string"}, "amount": {"type": "number"},
            "currency": {"enum": currencies, "default": "EUR"}});
        tool("pay", "Pays a supplier", &object(properties, &["supplier_id", "amount"]))
    };
    let one = pay(json!(["EUR", "USD", "GBP"]));
    for (said, code) in
        [("100 dollars", "USD"), ("$100", "USD"), ("100 pounds", "GBP"), ("€100", "EUR")]
    {
        let expected = json!({"supplier_id": "S-2", "amount": 100, "currency": code});
        assert_eq!(given(&one, &format!("pay supplier S-2 {said}")), expected);
    }
    for (tool, said, question) in [
        (&one, "100 yen", "currency"),
        (&pay(json!(["EUR", "USD", "AUD"])), "100 dollars", "currency"),
        (&one, "50 cents", "amount"),
    ] {
        assert_eq!(asked(tool, &format!("pay supplier S-2 {said}")), [question], "{said}");
    }
}

#[test]
fn a_whole_number_for_a_level_takes_a_percentage() {
    let schema = object(json!({"level": {"type": "integer"}}), &["level"]);
    let volume = tool("set_volume", "Changes the loudness", &schema);
    assert_eq!(given(&volume, "set the volume to 20%"), json!({"level": 20}));
    let schema = object(json!({"items": {"type": "integer"}}), &["items"]);
    let order = tool("order_items", "Orders items", &schema);
    assert_eq!(asked(&order, "order 20%"), ["items"]);
}

#[test]
fn a_number_with_fractions_counts_in_seconds_and_a_share_in_percent_as_the_tool_says() {
    let at = object(json!({"clip": {"type": "string"}, "at": {"type": "number"}}), &["clip", "at"]);
    let split = tool("split_clip", "Split a clip", &at);
    assert_eq!(given(&split, "split clip c_17 at 8 seconds"), json!({"clip": "c_17", "at": 8}));
    assert_eq!(asked(&split, "split clip c_17 at 8 minutes"), ["at"]);
    let label = json!({"time": {"type": "number"}, "label": {"type": "string"}});
    let marker = tool("add_marker", "Add a marker", &object(label, &["time", "label"]));
    let expected = json!({"time": 94.5, "label": "boom"});
    assert_eq!(given(&marker, "put a marker at 94.5 labelled \"boom\""), expected);
    let position = object(json!({"position": {"type": "number"}}), &["position"]);
    let percent = tool("set_screen", "Set the screen, in percent closed", &position);
    assert_eq!(given(&percent, "set the screen to 80%"), json!({"position": 80}));
    let bare = tool("set_screen", "Set the screen", &position);
    assert_eq!(asked(&bare, "set the screen to 80%"), ["position"]);
}

#[test]
fn a_listed_value_may_have_a_dot() {
    let event =
        json!({"event": {"type": "string", "enum": ["shipment.created", "shipment.delivered"]}});
    let hook = tool("create_webhook", "Register a webhook", &object(event, &["event"]));
    let expected = json!({"event": "shipment.delivered"});
    assert_eq!(given(&hook, "register a webhook for shipment.delivered"), expected);
    assert_eq!(asked(&hook, "register a webhook for the shipment. Delivered today"), ["event"]);
    assert_eq!(asked(&hook, "register a webhook for shipment,delivered"), ["event"]);
}
