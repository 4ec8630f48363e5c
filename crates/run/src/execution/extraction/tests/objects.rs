//! What an order is about, and why, as the value of a text.

use super::*;

#[test]
fn the_only_text_that_is_needed_gets_the_object_of_the_order() {
    let text = || json!({"type": "string"});
    let item = json!({"item": text(), "quantity": {"type": "integer"}});
    let add = tool("add_item", "Adds something to the shopping list", &object(item, &["item"]));
    let state = json!({"device": text(), "state": {"enum": ["on", "off"]}});
    let state = object(state, &["device", "state"]);
    let switch = tool("switch_device", "Switches a device", &state);
    for (tool, prompt, expected) in [
        (&add, "put 10 eggs on the shopping list", json!({"item": "eggs", "quantity": 10})),
        (&add, "please add oat milk to my shopping list", json!({"item": "oat milk"})),
        (&switch, "turn the coffee machine on", json!({"device": "coffee machine", "state": "on"})),
        (&switch, "turn off the radio", json!({"device": "radio", "state": "off"})),
    ] {
        assert_eq!(given(tool, prompt), expected, "{prompt}");
    }
    assert_eq!(asked(&add, "add the cheese that Ann likes to the shopping list"), ["item"]);
    let command = object(json!({"command": text()}), &["command"]);
    let run = tool("run_command", "Runs a command", &command);
    assert_eq!(asked(&run, "list the c drive"), ["command"]);
}

#[test]
fn the_only_name_goes_to_the_only_person() {
    let text = || json!({"type": "string"});
    let schema = object(json!({"van_id": text(), "driver": text()}), &["van_id", "driver"]);
    let assign = tool("assign_driver", "Assigns a driver to a van", &schema);
    let expected = json!({"van_id": "V-1", "driver": "Lena Hofmann"});
    for prompt in ["make Lena Hofmann the driver of V-1", "give V-1 to Lena Hofmann"] {
        assert_eq!(given(&assign, prompt), expected, "{prompt}");
    }
}

#[test]
fn a_reason_follows_because() {
    let text = || json!({"type": "string"});
    let schema = object(json!({"ward_id": text(), "reason": text()}), &["ward_id"]);
    let close = tool("close_ward", "Closes a ward", &schema);
    for (prompt, reason) in [
        ("close ward W-9 because of norovirus", "norovirus"),
        ("close ward W-9 because the roof leaks. Thanks", "the roof leaks"),
    ] {
        let expected = json!({"ward_id": "W-9", "reason": reason});
        assert_eq!(given(&close, prompt), expected, "{prompt}");
    }
}

#[test]
fn listed_values_are_said_in_other_words() {
    let text = || json!({"type": "string"});
    let properties = json!({"loan_id": text(), "language": {"enum": ["en", "fr"]},
        "channel": {"enum": ["email", "sms"]}, "notify_desk": {"type": "boolean"}});
    let send = object(properties, &["loan_id"]);
    let send = tool("send_notice", "Sends a notice for a loan", &send);
    for (prompt, name, value) in [
        ("send a notice for loan L-1 in French", "language", json!("fr")),
        ("send a text message notice for loan L-1", "channel", json!("sms")),
        ("send a notice for loan L-1 and notify the desk", "notify_desk", json!(true)),
        ("send a notice for loan L-1 and let the desk know", "notify_desk", json!(true)),
    ] {
        assert_eq!(given(&send, prompt), json!({"loan_id": "L-1", name: value}), "{prompt}");
    }
}

#[test]
fn a_word_with_a_number_sign_is_a_channel() {
    let text = || json!({"type": "string"});
    let post = object(json!({"channel": text(), "text": text()}), &["channel", "text"]);
    let post = tool("post_message", "Posts a message", &post);
    let expected = json!({"channel": "#releases", "text": "Freeze starts now"});
    assert_eq!(given(&post, "post \"Freeze starts now\" in #releases"), expected);
    let plain = json!({"type": "string", "pattern": "^[a-z-]+$"});
    let archive = object(json!({"channel": plain}), &["channel"]);
    let archive = tool("archive_channel", "Archives a channel", &archive);
    assert_eq!(given(&archive, "archive #old-design"), json!({"channel": "old-design"}));
    assert_eq!(asked(&archive, "archive #a-team and #b-team"), ["channel"]);
    assert_eq!(asked(&archive, "archive #42"), ["channel"]);
}

#[test]
fn a_number_may_be_a_rate_or_what_is_added() {
    let text = || json!({"type": "string"});
    let number = |about: &str| json!({"type": "number", "description": about});
    let of = |name: &str, about: &str| {
        object(json!({"lease_id": text(), name: number(about)}), &["lease_id", name])
    };
    let rent = tool("set_rent", "Sets the rent", &of("monthly_rent", "Rent in EUR"));
    let renew = tool("renew_lease", "Renews a lease", &of("weeks", "Number of weeks to add"));
    let stock = tool("set_stock", "Sets the stock", &of("quantity", "New quantity"));
    for (tool, prompt, name, value) in [
        (&rent, "raise the rent of lease L-1 to 1,240 euros a month", "monthly_rent", json!(1240)),
        (&renew, "renew lease L-1 by two weeks", "weeks", json!(2)),
        (&stock, "set the quantity of lease L-1 to 20", "quantity", json!(20)),
    ] {
        assert_eq!(given(tool, prompt), json!({"lease_id": "L-1", name: value}), "{prompt}");
    }
    assert_eq!(asked(&stock, "add 20 to the quantity of lease L-1"), ["quantity"]);
}

#[test]
fn what_is_measured_is_the_text_that_is_needed() {
    let properties = json!({"crop": {"type": "string"}, "kg": {"type": "number"},
        "volume_l": {"type": "number", "description": "Litres"}});
    let log = tool("log_harvest", "Logs a harvest", &object(properties.clone(), &["crop", "kg"]));
    let expected = json!({"crop": "tomatoes", "kg": 84.5});
    assert_eq!(given(&log, "log harvest: 84.5 kg tomatoes"), expected);
    let water = tool("log_feed", "Logs a feed", &object(properties, &["crop", "volume_l"]));
    let expected = json!({"crop": "oat milk", "volume_l": 2});
    assert_eq!(given(&water, "log 2 litres of oat milk"), expected);
}

#[test]
fn listed_values_have_the_names_of_their_description_and_of_the_verb() {
    let branch = json!({"enum": ["central", "mobile"], "description": "Branch. 'mobile' is the library bus."});
    let hold = object(json!({"title": {"type": "string"}, "branch": branch}), &["branch"]);
    let hold = tool("place_hold", "Reserves a title", &hold);
    let said = given(&hold, "reserve it, I'll pick it up from the library bus");
    assert_eq!(said, json!({"branch": "mobile"}));
    let level =
        json!({"type": "integer", "enum": [0, 1, 2], "description": "0 = off, 1 = low, 2 = high"});
    let fan = tool("set_fan", "Sets the fan", &object(json!({"level": level}), &["level"]));
    assert_eq!(given(&fan, "set the fan to high"), json!({"level": 2}));
    let screen = object(json!({"position": {"enum": ["open", "closed"]}}), &["position"]);
    let screen = tool("set_shade_screen", "Moves the shade screen", &screen);
    for (prompt, position) in [
        ("The sun is blazing, please close the shade screen", "closed"),
        ("could you open the shade screen", "open"),
    ] {
        assert_eq!(given(&screen, prompt), json!({"position": position}), "{prompt}");
    }
}
