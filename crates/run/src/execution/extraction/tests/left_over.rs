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
    for prompt in ["unlock Mara", "please unlock the user Mara", "unlock Mara's account"] {
        assert_eq!(given(&unlock, prompt), json!({"login": "Mara"}), "{prompt}");
    }
    for prompt in
        ["unlock the blocked user", "unlock it again", "call Mara and unlock her", "unlock both"]
    {
        assert_eq!(asked(&unlock, prompt), ["login"], "{prompt}");
    }
    let carrier = json!({"order_id": {"type": "string"}, "carrier": {"type": "string"}});
    let carrier = object(carrier, &["order_id", "carrier"]);
    let ship = tool("create_shipment", "Hands an order over to a carrier", &carrier);
    let expected = json!({"order_id": "O-3", "carrier": "DHL"});
    assert_eq!(given(&ship, "ship O-3 with DHL"), expected);
    let delete = tool("delete_user", "Deletes a user", &schema);
    // The call waits for a person's confirmation, which shows the arguments.
    assert_eq!(given(&delete, "delete the user Mara"), json!({"login": "Mara"}));
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

#[test]
fn what_would_make_a_call_do_less_is_used_or_asked_about() {
    let text = || json!({"type": "string"});
    let label = || json!({"label": text(), "minutes": {"type": "number"}});
    let about = "Stops a running timer (all if no label)";
    let stop = tool("stop_timer", about, &object(json!({"label": text()}), &[]));
    for prompt in ["stop the pasta timer", "cancel the pasta timer", "stop the timer for the pasta"]
    {
        let question = prepare(&stop, prompt).missing.remove(0);
        assert_eq!(question.candidates, ["pasta"], "{prompt}");
    }
    for prompt in ["stop the timer", "please stop all timers", "stop the running timer"] {
        assert_eq!(given(&stop, prompt), json!({}), "{prompt}");
    }
    let start = tool("start_timer", "Starts a timer", &object(label(), &["minutes"]));
    let expected = json!({"label": "pasta", "minutes": 8});
    assert_eq!(given(&start, "start a pasta timer for 8 minutes"), expected);
    let rooms = json!({"room": {"enum": ["kitchen", "bedroom"]}, "on": {"type": "boolean"}});
    let light = tool("set_light", "Switches lamps on or off", &object(rooms, &["room"]));
    assert_eq!(asked(&light, "turn the light in the kitchen and the bedroom off"), ["room"]);
}

#[test]
fn a_tool_that_lists_gets_the_person_whose_things_are_asked_for() {
    let text = || json!({"type": "string"});
    let orders = object(json!({"customer_email": text(), "limit": {"type": "integer"}}), &[]);
    let orders = tool("list_orders", "Lists orders, newest first", &orders);
    let expected = json!({"customer_email": "mia@example.org"});
    assert_eq!(given(&orders, "list the orders of mia@example.org"), expected);
}

#[test]
fn the_name_of_a_place_goes_on_in_lower_case() {
    let schema = object(json!({"destination": {"type": "string"}}), &["destination"]);
    let route = tool("get_directions", "Route between two places", &schema);
    let expected = json!({"destination": "Hamburg central station"});
    assert_eq!(given(&route, "directions to Hamburg central station"), expected);
}

#[test]
fn a_name_beside_the_order_is_that_of_somebody_else() {
    let person = object(json!({"patient": {"type": "string"}}), &["patient"]);
    let discharge =
        tool("discharge_patient", "Discharges a patient from the ward of a doctor", &person);
    assert_eq!(given(&discharge, "discharge Lena Hofmann"), json!({"patient": "Lena Hofmann"}));
    for prompt in [
        "Hello Anna, discharge the patient. Thanks, Tom",
        "this is Dr. Weber, please discharge the patient",
        "discharge the patient of Dr. Weber",
        "discharge the patient because of Corona",
        "discharge the patient who hit Tom Berger",
        "discharge the patient -- Tom Berger",
        "discharge the patient, she went to Tom Berger",
    ] {
        assert_eq!(asked(&discharge, prompt), ["patient"], "{prompt}");
    }
    let order = object(json!({"order": {"type": "integer"}}), &["order"]);
    let cancel = tool("cancel_order", "Cancels an order", &order);
    assert_eq!(given(&cancel, "cancel order 4711"), json!({"order": 4711}));
    for prompt in [
        "cancel the order, flight 4711 is late",
        "cancel the order of customer 12",
        "cancel the order in room 12",
        "cancel the order that is older than 30",
    ] {
        assert_eq!(asked(&cancel, prompt), ["order"], "{prompt}");
    }
}

#[test]
fn a_repository_takes_its_owner_and_its_name() {
    let review = json!({
        "repo": {"type": "string", "description": "Repository in the form `owner/name`"},
        "review_id": {"type": "integer"}, "path": {"type": "string"}});
    let review = object(review, &["repo", "review_id"]);
    let get = tool("get_review", "Gets a review", &review);
    let expected = json!({"repo": "acme/web", "review_id": 87});
    for prompt in ["show review 87 in acme/web", "get review 87 of repo acme/web"] {
        assert_eq!(given(&get, prompt), expected, "{prompt}");
    }
    let expected = json!({"repo": "acme/web", "review_id": 87, "path": "src/tax.rs"});
    assert_eq!(given(&get, "show review 87 in acme/web for path src/tax.rs"), expected);
    let repo = object(json!({"repo": {"type": "string"}}), &["repo"]);
    let archive = tool("archive_repo", "Archive a repository", &repo);
    assert_eq!(given(&archive, "archive the repo acme/web"), json!({"repo": "acme/web"}));
    for other in ["archive src/main", "archive branch feature/login"] {
        assert_eq!(asked(&archive, other), ["repo"], "{other}");
    }
}

#[test]
fn a_full_name_is_split_and_the_ends_of_a_way_need_no_capitals() {
    let name = json!({"first_name": {"type": "string"}, "last_name": {"type": "string"}});
    let create =
        tool("create_contact", "Create a contact", &object(name, &["first_name", "last_name"]));
    let expected = json!({"first_name": "Maya", "last_name": "Lindqvist"});
    assert_eq!(given(&create, "create a contact Maya Lindqvist"), expected);
    for other in [
        "create a contact, thanks, Maya Lindqvist",
        "create a contact named \"Maya Änne\"",
        "create a contact named 'Maya Ödön'",
        "create a contact for Dr. Weber",
        "create a contact for Maya Lindqvist or Tom",
        "create a contact for Maya Lindqvist's brother",
        "the contact Maya Lindqvist is wrong, create a new one",
    ] {
        assert_eq!(asked(&create, other), ["first_name", "last_name"], "{other}");
    }

    let ends = json!({"from_account": {"type": "string"}, "to_account": {"type": "string"},
                      "amount": {"type": "number"}});
    let ends = object(ends, &["from_account", "to_account", "amount"]);
    let transfer = tool("transfer", "Transfer money between two accounts", &ends);
    let expected = json!({"from_account": "savings", "to_account": "checking", "amount": 250});
    for prompt in [
        "transfer 250 from savings to checking",
        "transfer 250 from my savings account to the checking account",
    ] {
        assert_eq!(given(&transfer, prompt), expected, "{prompt}");
    }
    for two in [
        "transfer 250 from the old savings to checking",
        "transfer 250 from savings or checking account to business account",
        "transfer 250 from savings to the checking account of my son",
        "transfer 250 from whatever to checking",
    ] {
        assert_eq!(asked(&transfer, two), ["from_account", "to_account"], "{two}");
    }
}

#[test]
fn names_in_a_row_are_taken_where_the_tool_says_what_they_are() {
    let row = json!({"lesson_a": {"type": "string"}, "lesson_b": {"type": "string"}});
    let swap = tool("tt_swap", "Swap two lessons", &object(row, &["lesson_a", "lesson_b"]));
    let expected = json!({"lesson_a": "L-301", "lesson_b": "L-317"});
    assert_eq!(given(&swap, "swap lessons L-301 and L-317"), expected);
    for other in ["swap them for L-301 and L-317", "swap lessons Osprey and Falcon into Eagle"] {
        assert_eq!(asked(&swap, other), ["lesson_a", "lesson_b"], "{other}");
    }
}

#[test]
fn words_that_would_choose_less_are_told_or_asked_about() {
    let list = json!({"status": {"type": "string"}, "limit": {"type": "integer"}});
    let list = tool("list_contracts", "List contracts", &object(list, &[]));
    let unused = |prompt: &str| {
        let unused = prepare(&list, prompt).unused;
        unused.into_iter().map(|unused| unused.text).collect::<Vec<_>>()
    };
    assert_eq!(unused("list 5 contracts with Osprey Analytics"), ["Osprey Analytics"]);
    assert_eq!(asked(&list, "list closed contracts"), ["status"]);
    assert_eq!(unused("what's on the list of the last 5 contracts?"), [""; 0]);
    assert_eq!(asked(&list, "which contracts are in prod"), ["status"]);
    for all in
        ["which contracts are there?", "list contracts in total", "hi Claude, list contracts"]
    {
        assert_eq!(asked(&list, all), [""; 0], "{all}");
    }
}

#[test]
fn a_passage_stands_between_the_verb_and_the_last_value() {
    let text = json!({"text": {"type": "string"}, "target": {"type": "string"}});
    let translate = tool("translate", "Translate text.", &object(text, &["text", "target"]));
    let expected = json!({"text": "good night", "target": "Finnish"});
    assert_eq!(given(&translate, "translate good night into Finnish"), expected);
    for prompt in ["translate this into Finnish", "translate good night into Finnish tomorrow"] {
        assert_eq!(asked(&translate, prompt), ["text"], "{prompt}");
    }
    let numbers = json!({"a": {"type": "integer"}, "b": {"type": "integer"}});
    let add = tool("add", "Add two numbers", &object(numbers, &["a", "b"]));
    assert_eq!(given(&add, "what is 3 plus 4?"), json!({"a": 3, "b": 4}));
    assert_eq!(asked(&add, "what is 3 times 4?"), ["a", "b"]);
}
