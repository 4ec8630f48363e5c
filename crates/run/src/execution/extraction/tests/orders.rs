//! Booleans that the order sets.

use super::*;

/// A tool that switches what `name` says, with a required id and a default.
fn switch(tool_name: &str, about: &str, name: &str, default: bool) -> Tool {
    let properties =
        json!({"zone_id": {"type": "string"}, name: {"type": "boolean", "default": default}});
    tool(tool_name, about, &object(properties, &["zone_id"]))
}

#[test]
fn an_order_sets_a_boolean_to_what_it_says() {
    let heating = switch("set_heating", "Turns the heating of a zone on or off", "on", true);
    let lock = switch("lock_door", "Lock/unlock the door of a zone", "locked", true);
    let public = switch("set_access", "Makes a zone public or private", "public", true);
    let alarm = switch("set_alarm", "Arms the alarm of a zone", "alarm_disabled", false);
    let create = switch("create_zone", "Creates a zone", "private", true);
    let renew = switch("set_contract", "Changes the contract of a zone", "auto_renew", true);
    let todo = switch("mark_zone", "Marks a zone as done or open", "done", true);
    let mute = switch("mute_zone", "Mutes a zone", "muted", true);
    for (tool, name, prompt, expected) in [
        (&heating, "on", "switch off the heating of Z-1", false),
        (&heating, "on", "turn the heating of Z-1 off", false),
        (&heating, "on", "heating of zone Z-1 off please", false),
        (&heating, "on", "disable the heating of Z-1", false),
        (&heating, "on", "please turn on the heating of Z-1", true),
        (&heating, "on", "turn the heating of Z-1 on", true),
        (&lock, "locked", "unlock the door of Z-1", false),
        (&lock, "locked", "can you unlock the door of Z-1?", false),
        (&lock, "locked", "lock the door of Z-1", true),
        (&public, "public", "make zone Z-1 private", false),
        (&public, "public", "set zone Z-1 to private", false),
        (&public, "public", "make zone Z-1 public", true),
        (&alarm, "alarm_disabled", "disable the alarm of Z-1", true),
        (&alarm, "alarm_disabled", "enable the alarm of Z-1", false),
        (&renew, "auto_renew", "turn off auto renew for Z-1", false),
        (&renew, "auto_renew", "disable the auto-renew of Z-1", false),
        (&renew, "auto_renew", "set auto_renew of Z-1 to false", false),
        (&todo, "done", "reopen zone Z-1", false),
        (&todo, "done", "mark zone Z-1 as done", true),
        (&create, "private", "create a public zone Z-1", false),
        (&create, "private", "create a private zone Z-1", true),
        (&mute, "muted", "unmute zone Z-1", false),
        (&mute, "muted", "mute zone Z-1", true),
    ] {
        let expected = json!({"zone_id": "Z-1", name: expected});
        assert_eq!(given(tool, prompt), expected, "{prompt}");
    }
}

#[test]
fn the_default_is_no_answer_to_an_order_that_does_not_say_what_the_tool_sets() {
    let lock = switch("lock_door", "Lock/unlock the door of a zone", "locked", true);
    let feature =
        switch("toggle_alarm", "Enables or disables the alarm of a zone", "enabled", true);
    let create = switch("create_zone", "Creates a zone", "private", true);
    for (tool, name, prompt) in [
        (&create, "private", "create a public one with the id Z-1"),
        (&lock, "locked", "open the door of Z-1"),
        (&lock, "locked", "do not unlock the door of Z-1"),
        (&lock, "locked", "unlock and lock the door of Z-1"),
        (&feature, "enabled", "toggle the alarm of Z-1"),
    ] {
        assert_eq!(asked(tool, prompt), [name], "{prompt}");
    }
}

#[test]
fn words_that_order_nothing_of_a_boolean_leave_its_default() {
    let schema = object(
        json!({"room": {"enum": ["hall", "attic"]}, "on": {"type": "boolean", "default": true},
            "brightness": {"type": "integer"}}),
        &["room"],
    );
    let light = tool("set_light", "Switches the lamps of a room on or off, or dims them", &schema);
    let expected = json!({"room": "hall", "brightness": 40});
    for prompt in ["set the hall light to brightness 40", "set brightness 40 on the hall lamps"] {
        assert_eq!(given(&light, prompt), expected, "{prompt}");
    }
    let mail = json!({"to": {"type": "string", "format": "email"}, "copy": {"type": "boolean", "default": false}});
    let send = tool("send_mail", "Sends a mail", &object(mail, &["to"]));
    assert_eq!(given(&send, "copy the mail to a@b.org"), json!({"to": "a@b.org"}));
    let damage = json!({"vehicle_id": {"type": "string"}, "description": {"type": "string"},
        "drivable": {"type": "boolean"}});
    let damage = object(damage, &["vehicle_id", "description"]);
    let report = tool("report_damage", "Reports a damage of a vehicle", &damage);
    for said in ["scratch on the door, still drivable", "drivable"] {
        let expected = json!({"vehicle_id": "V-3", "description": said});
        assert_eq!(given(&report, &format!("report a damage on V-3: {said}")), expected);
    }
    let flight = json!({"to": {"enum": ["Rome"]}, "direct_flight": {"type": "boolean"}});
    let book = tool("flight_book", "Books a flight", &object(flight, &["to"]));
    assert_eq!(given(&book, "book a direct flight to Rome"), json!({"to": "Rome"}));
}

#[test]
fn the_opposite_of_a_boolean_before_what_a_tool_lists_sets_it_to_false() {
    let schema = object(json!({"active": {"type": "boolean", "default": true}}), &[]);
    let list = tool("list_users", "Lists users", &schema);
    assert_eq!(given(&list, "list the inactive users"), json!({"active": false}));
    assert_eq!(given(&list, "list the users"), json!({}));
}

#[test]
fn a_word_after_on_sets_a_boolean() {
    let call = json!({"name": {"type": "string"}, "speaker": {"type": "boolean"}});
    let call = tool("call_contact", "Starts a call", &object(call, &["name"]));
    let expected = json!({"name": "Tom", "speaker": true});
    assert_eq!(given(&call, "call Tom on speaker"), expected);
}

#[test]
fn a_switched_boolean_takes_the_state_that_is_said_and_no_other_does() {
    let schema = json!({"camera_id": {"type": "string"}, "recording": {"type": "boolean"},
        "night_vision": {"type": "boolean"}, "enabled": {"type": "boolean"}});
    let camera =
        tool("set_camera", "Changes the settings of a camera", &object(schema, &["camera_id"]));
    let schema = json!({"product_id": {"type": "string"}, "featured": {"type": "boolean"}});
    let product = tool("update_product", "Changes a product", &object(schema, &["product_id"]));
    for (tool, prompt, expected) in [
        (&camera, "stop recording on camera C-1", json!({"camera_id": "C-1", "recording": false})),
        (
            &camera,
            "turn off night vision of camera C-1",
            json!({"camera_id": "C-1", "night_vision": false}),
        ),
        (
            &product,
            "set featured of product P-1 to false",
            json!({"product_id": "P-1", "featured": false}),
        ),
        (
            &product,
            "turn featured off for product P-1",
            json!({"product_id": "P-1", "featured": false}),
        ),
    ] {
        assert_eq!(given(tool, prompt), expected, "{prompt}");
    }
    for prompt in
        ["don't turn off night vision of camera C-1", "never set night vision of C-1 to true"]
    {
        assert_eq!(asked(&camera, prompt), ["night_vision"], "{prompt}");
    }
}

#[test]
fn a_prefix_is_the_opposite_of_a_state_alone() {
    let schema = json!({"patient_id": {"type": "string"}, "charge": {"type": "boolean"}});
    let discharge =
        tool("discharge_patient", "Discharges a patient", &object(schema, &["patient_id"]));
    assert_eq!(given(&discharge, "discharge patient P-1"), json!({"patient_id": "P-1"}));
    let schema =
        json!({"task_id": {"type": "string"}, "done": {"type": "boolean", "default": true}});
    let mark = tool("mark_task", "Marks a task as done", &object(schema, &["task_id"]));
    let expected = json!({"task_id": "T-1", "done": false});
    assert_eq!(given(&mark, "mark task T-1 as incomplete"), expected);
}

#[test]
fn what_is_spared_is_not_acted_on() {
    let booking = object(json!({"booking_id": {"type": "string"}}), &["booking_id"]);
    let cancel = tool("cancel_booking", "Cancels a booking", &booking);
    for prompt in [
        "cancel all bookings but B-1",
        "cancel every booking other than B-1",
        "cancel all bookings apart from B-1",
    ] {
        assert_eq!(asked(&cancel, prompt), ["booking_id"], "{prompt}");
    }
    let schema = json!({"amount": {"type": "number", "description": "Amount in euros"}});
    let transfer = tool("transfer_money", "Transfers money", &object(schema, &["amount"]));
    assert_eq!(asked(&transfer, "transfer twice 20 euros"), ["amount"]);
    assert_eq!(given(&transfer, "transfer 20 euros"), json!({"amount": 20}));
    let member = json!({"member": {"type": "string", "description": "The member's name"}});
    let block = tool("block_member", "Blocks a member", &object(member, &["member"]));
    for prompt in ["block every member", "block myself"] {
        assert_eq!(asked(&block, prompt), ["member"], "{prompt}");
    }
}

#[test]
fn the_state_of_the_thing_is_not_the_state_to_set() {
    let schema = json!({"ticket_id": {"type": "string"},
        "priority": {"enum": ["low", "normal", "urgent"]}});
    let set = object(schema, &["ticket_id", "priority"]);
    let set = tool("set_priority", "Sets the priority of a ticket", &set);
    let expected = json!({"ticket_id": "T-1", "priority": "normal"});
    assert_eq!(given(&set, "set the priority of ticket T-1 to normal"), expected);
    let prompt = "set the priority of the urgent ticket T-1 to normal";
    assert_ne!(given(&set, prompt)["priority"], "urgent");
}

#[test]
fn a_verb_gives_the_state_that_it_leads_to() {
    let schema = object(
        json!({"issue_number": {"type": "integer"}, "state": {"enum": ["open", "closed"]},
               "state_reason": {"enum": ["completed", "not_planned"]}}),
        &["issue_number"],
    );
    let update = tool("update_issue", "Update an issue", &schema);
    for (prompt, state) in [("close issue 91", "closed"), ("please reopen issue 91", "open")] {
        let expected = json!({"issue_number": 91, "state": state});
        assert_eq!(given(&update, prompt), expected, "{prompt}");
    }
    for prompt in ["update issue 91", "close the comments of issue 91"] {
        assert_eq!(given(&update, prompt), json!({"issue_number": 91}), "{prompt}");
    }
}

#[test]
fn a_room_is_given_to_a_tool_that_is_about_the_thing_in_it() {
    let schema = json!({"area": {"type": "string"}, "brightness": {"type": "integer"}});
    let light = tool("light_set", "Sets the brightness of a light", &object(schema.clone(), &[]));
    for prompt in ["set the bedroom lights to 30%", "set the lights in the bedroom to 30%"] {
        let expected = json!({"area": "bedroom", "brightness": 30});
        assert_eq!(given(&light, prompt), expected, "{prompt}");
    }
    for prompt in [
        "set the bedroom and kitchen lights to 30%",
        "set the lights in the bedroom and the hall to 30%",
        "set the guest bedroom lights to 30%",
    ] {
        assert_eq!(given(&light, prompt), json!({"brightness": 30}), "{prompt}");
    }
    let off = tool("turn_off", "Turns off a device", &object(schema, &[]));
    assert_eq!(given(&off, "turn off the bedroom lights"), json!({}));
}

#[test]
fn a_name_stands_behind_called_and_flags_before_the_thing() {
    let schema = object(
        json!({"name": {"type": "string"}, "private": {"type": "boolean"}, "fullPage": {"type": "boolean"}}),
        &["name"],
    );
    let create = tool("create_repository", "Create a new repository", &schema);
    for (prompt, expected) in [
        (
            "create a private GitHub repository called tools-lab",
            json!({"name": "tools-lab", "private": true}),
        ),
        ("create a repository named Tools Lab for Ana", json!({"name": "Tools Lab"})),
        ("create a full page repository named lab", json!({"name": "lab", "fullPage": true})),
    ] {
        assert_eq!(given(&create, prompt), expected, "{prompt}");
    }
}
