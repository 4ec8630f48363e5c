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
