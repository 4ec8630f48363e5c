//! Ids, codes and telephone numbers, and what is said of them.

use super::*;

#[test]
fn a_code_goes_to_the_only_parameter_that_is_asked_for() {
    let code = || json!({"type": "string"});
    let check =
        tool("check_voucher", "Is a code valid?", &object(json!({"code": code()}), &["code"]));
    for (prompt, expected) in [("is XMAS10 valid?", "XMAS10"), ("check voucher ABC", "ABC")] {
        assert_eq!(given(&check, prompt), json!({"code": expected}), "{prompt}");
    }
    assert_eq!(asked(&check, "is the voucher valid?"), ["code"]);
    let day = json!({"type": "string", "format": "date"});
    let properties = json!({"code": code(), "percent": {"type": "integer"}, "valid_until": day});
    let create = object(properties, &["code", "percent"]);
    let create = tool("create_voucher", "Makes a discount code", &create);
    let expected = json!({"code": "SPRING15", "percent": 15, "valid_until": "2027-04-30"});
    assert_eq!(given(&create, "create a 15% voucher SPRING15 valid until 2027-04-30"), expected);
}

#[test]
fn a_telephone_number_goes_to_the_parameter_for_one() {
    let text = || json!({"type": "string"});
    let call = object(json!({"name_or_number": text()}), &["name_or_number"]);
    let call = tool("call_contact", "Start a phone call.", &call);
    for (prompt, expected) in
        [("call +49 170 1234567", "+491701234567"), ("call Dana Levi", "Dana Levi")]
    {
        assert_eq!(given(&call, prompt), json!({"name_or_number": expected}), "{prompt}");
    }
    let properties = json!({"name": text(), "phone": text(), "email": text(), "company": text()});
    let add = tool("add_contact", "Save a new contact.", &object(properties, &["name"]));
    let expected = json!({"name": "Lena Vogt", "phone": "+491609988776", "email": "lena@vogt.de"});
    let prompt = "save Lena Vogt, +49 160 9988776, lena@vogt.de as a contact";
    assert_eq!(given(&add, prompt), expected);
    for number in ["052-555-0143", "06 55 50 12 34", "415-555-0132", "(415) 555-0132"] {
        let expected = json!({"name": "Ruth Peled", "phone": number});
        let prompt = format!("add Ruth Peled to my contacts, {number}");
        assert_eq!(given(&add, &prompt), expected, "{prompt}");
    }
    assert_eq!(prepare(&add, "add Ruth Peled, 415-555-0132-9").arguments.get("phone"), None);
    let schema = object(json!({"order_number": text()}), &["order_number"]);
    let cancel = tool("find_order", "Finds an order", &schema);
    assert_eq!(asked(&cancel, "find the order of +49 170 1234567"), ["order_number"]);
}

#[test]
fn the_name_of_a_parameter_before_of_and_an_id_is_that_of_the_thing() {
    let text = || json!({"type": "string"});
    let priority = json!({"enum": ["low", "normal", "high", "urgent"]});
    let schema =
        object(json!({"ticket_id": text(), "priority": priority}), &["ticket_id", "priority"]);
    let set = tool("set_ticket_priority", "Sets the priority", &schema);
    for (prompt, expected) in [
        ("raise the priority of T-32 to urgent", "urgent"),
        ("set the priority of ticket T-32 to high", "high"),
        ("set T-32 to low priority", "low"),
    ] {
        let expected = json!({"ticket_id": "T-32", "priority": expected});
        assert_eq!(given(&set, prompt), expected, "{prompt}");
    }
    assert_eq!(asked(&set, "set the priority of T-32"), ["priority"]);
}

#[test]
fn a_number_before_an_id_counts_what_it_names() {
    let text = || json!({"type": "string"});
    let properties =
        json!({"order_id": text(), "sku": text(), "quantity": {"type": "integer", "default": 1}});
    let add =
        tool("add_item_to_order", "Adds an article", &object(properties, &["order_id", "sku"]));
    let expected = json!({"order_id": "O-1000", "sku": "SKU-13", "quantity": 2});
    assert_eq!(given(&add, "add 2 SKU-13 to order O-1000"), expected);
}

#[test]
fn the_id_of_another_kind_of_thing_is_asked_about() {
    let id = |about: &str| json!({"type": "string", "description": about});
    let of = |name: &str, about: &str| object(json!({name: id(about)}), &[name]);
    let cancel = of("reservation_id", "ID of the reservation, e.g. RS-100");
    let cancel = tool("cancel_reservation", "Cancels a reservation", &cancel);
    assert_eq!(given(&cancel, "cancel reservation RS-7"), json!({"reservation_id": "RS-7"}));
    assert_eq!(asked(&cancel, "cancel reservation L-2091"), ["reservation_id"]);
    let close = of("issue_key", "Key of the issue, e.g. PAY-101");
    let close = tool("close_issue", "Closes an issue", &close);
    for prompt in ["close WEB-7", "close the login bug WEB-7", "WEB-7 is fixed, please close it"] {
        assert_eq!(given(&close, prompt), json!({"issue_key": "WEB-7"}), "{prompt}");
    }
    let move_car = of("vehicle_id", "Number of the vehicle, e.g. VAN-21, TRK-16 or CAR-160.");
    let move_car = tool("move_vehicle", "Moves a vehicle", &move_car);
    for prompt in ["move CAR-7", "move the blue car CAR-7", "move CAR-7's trailer home"] {
        assert_eq!(given(&move_car, prompt), json!({"vehicle_id": "CAR-7"}), "{prompt}");
    }
}

#[test]
fn a_national_telephone_number_keeps_its_spaces() {
    let text = || json!({"type": "string"});
    let schema = object(json!({"patient_id": text(), "phone": text()}), &["patient_id"]);
    let update = tool("update_contact", "Updates how a patient is reached", &schema);
    let expected = json!({"patient_id": "P-7", "phone": "0161 496 0834"});
    let prompt = "change the phone number of patient P-7 to 0161 496 0834";
    assert_eq!(given(&update, prompt), expected);
}

#[test]
fn a_code_with_the_form_of_the_example_is_the_value_of_a_text() {
    let week = json!({"type": "string", "description": "ISO week, e.g. 2026-W19"});
    let schema = object(json!({"week": week}), &["week"]);
    let approve = tool("approve_timesheet", "Approve the timesheet of a week", &schema);
    let expected = json!({"week": "2026-W07"});
    assert_eq!(given(&approve, "approve the timesheet for 2026-W07"), expected);
}
