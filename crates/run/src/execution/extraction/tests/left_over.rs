//! What is left of a prompt after the values that words name.

use super::*;

#[test]
fn a_tool_that_reads_gets_the_values_that_fit_best() {
    let text = || json!({"type": "string"});
    let about = |about: &str| json!({"type": "string", "description": about});
    let number = |about: &str| json!({"type": "number", "description": about});
    let list = json!({"type": "array", "items": {"type": "number"}});
    for (name, properties, prompt, expected) in [
        (
            "get_route",
            json!({"start": text(), "destination": text()}),
            "How far is it from the Old Mill to Castle Hill?",
            json!({"start": "Old Mill", "destination": "Castle Hill"}),
        ),
        (
            "get_duel",
            json!({"player1": text(), "player2": text(), "city": text()}),
            "Who won between Ada King and Bo Li in Lyon, France?",
            json!({"player1": "Ada King", "player2": "Bo Li", "city": "Lyon, France"}),
        ),
        (
            "get_ratio",
            json!({"a": number(""), "b": number("")}),
            "the ratio of 12 and 8",
            json!({"a": 12, "b": 8}),
        ),
        (
            "get_mix",
            json!({"mass1": number("kg"), "mass2": number("kg"), "yield": number("as a decimal")}),
            "mix 2 kg with 3 kg at 5 %",
            json!({"mass1": 2, "mass2": 3, "yield": 0.05}),
        ),
        (
            "get_mean",
            json!({"values": list}),
            "the mean of [3, 4.5, 8]",
            json!({"values": [3, 4.5, 8]}),
        ),
        (
            "find_book",
            json!({"author": text(), "shelf": about("Shelf, e.g. crime, travel")}),
            "a travel book by J. K. Rowling",
            json!({"author": "J. K. Rowling", "shelf": "travel"}),
        ),
        (
            "get_plant",
            json!({"plant": text()}),
            "Tell me about the lemon balm",
            json!({"plant": "lemon balm"}),
        ),
    ] {
        let required: Vec<&str> =
            properties.as_object().unwrap().keys().map(String::as_str).collect();
        let reading = tool(name, "Returns what is known", &object(properties.clone(), &required));
        assert_eq!(given(&reading, prompt), expected, "{prompt}");
    }
}

#[test]
fn what_may_be_meant_by_several_values_is_asked() {
    let city = object(json!({"city": {"type": "string"}}), &["city"]);
    let weather = tool("get_weather", "Gets the weather", &city);
    for prompt in ["weather in Rome and Oslo", "how is the weather in May?", "will it snow?"] {
        assert_eq!(asked(&weather, prompt), ["city"], "{prompt}");
    }
}

#[test]
fn a_tool_that_changes_something_gets_the_only_name_that_is_left() {
    let schema = object(json!({"login": {"type": "string"}}), &["login"]);
    let unlock = tool("unlock_user", "Unlocks the account of a user", &schema);
    for prompt in ["unlock mara", "please unlock the user mara", "unlock mara's account"] {
        assert_eq!(given(&unlock, prompt), json!({"login": "mara"}), "{prompt}");
    }
    for prompt in
        ["unlock the blocked user", "unlock it again", "call mara and unlock her", "unlock both"]
    {
        assert_eq!(asked(&unlock, prompt), ["login"], "{prompt}");
    }
    let delete = tool("delete_user", "Deletes a user", &schema);
    let question = prepare(&delete, "delete the user mara").missing.remove(0);
    assert_eq!(question.candidates, ["mara"]);
}

#[test]
fn an_id_in_groups_is_one_and_digits_behind_an_id_are_asked_about() {
    let schema = object(
        json!({"iban": {"type": "string"}, "amount": {"type": "number"}}),
        &["iban", "amount"],
    );
    let pay = tool("create_payment", "Creates a payment", &schema);
    let expected = json!({"iban": "DE89370400440532013000", "amount": 20});
    assert_eq!(given(&pay, "pay 20 to DE89 3704 0044 0532 0130 00"), expected);
    assert_eq!(asked(&pay, "pay about 20 to DE89370400440532013000"), ["amount"]);
    let schema = object(json!({"plate": {"type": "string"}}), &["plate"]);
    let find = tool("find_car", "Finds a car", &schema);
    assert_eq!(asked(&find, "find the car with the plate KA-XY 7"), ["plate"]);
    let schema = object(json!({"booking_id": {"type": "string"}}), &["booking_id"]);
    let cancel = tool("cancel_booking", "Cancels a booking", &schema);
    assert_eq!(asked(&cancel, "cancel V-1"), ["booking_id"]);
    assert_eq!(given(&cancel, "cancel B-1"), json!({"booking_id": "B-1"}));
}
