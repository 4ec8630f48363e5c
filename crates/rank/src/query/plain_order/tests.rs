use super::*;

fn schema_of(text: &str) -> toolroute_catalog::Schema {
    toolroute_catalog::Schema::new(serde_json::value::RawValue::from_string(text.into()).unwrap())
}

fn tool(name: &str, description: &str) -> Tool {
    Tool::new(Some("desk"), name, description)
}

fn reason(prompt: &str, tool: &Tool) -> Option<VerbMismatch> {
    verb_mismatch(prompt, Places::default(), tool)
}

#[test]
fn an_order_to_change_something_is_not_done_by_a_tool_that_reads() {
    let list = tool("list_bookings", "Lists the bookings of a vehicle");
    let change = |prompt: &str, tool: &Tool| ordered_change(prompt, Places::default(), tool);
    assert_eq!(change("book car 5 for Ann", &list).as_deref(), Some("book"));
    assert_eq!(change("please cancel booking 5", &list).as_deref(), Some("cancel"));
    for prompt in ["list the bookings of car 5", "what is booked", "booking 5", "find car 5"] {
        assert_eq!(change(prompt, &list), None, "{prompt}");
    }
    let export = tool("download_report", "Downloads a report");
    assert_eq!(change("download the report", &export), None);
}

#[test]
fn an_order_has_a_verb_of_the_tool() {
    let close = tool("ticket_close", "Close a ticket with a resolution.");
    let move_stock = tool("move_stock", "Moves stock of an article to another bin.");
    let book = tool("create_reservation", "Creates a reservation for a table.");
    let escalate = tool("ticket_escalate", "Escalates a ticket.");
    let reopen = tool("ticket_reopen", "Reopen a closed ticket.");
    let delete = tool("file_delete", "Deletes a file.");
    let retire = tool("takeOutOfService", "Takes a vehicle out of service");
    let off = tool("turn_off_oven", "Turns an oven off");
    for (prompt, tool) in [
        ("close ticket T-3001", &close),
        ("Hi! Could you please close T-3001?", &close),
        ("T-3001 is solved, so close it", &close),
        ("I'd like you to close the ticket", &close),
        ("let's close T-3001", &close),
        ("would you mind closing T-3001?", &close),
        ("I need T-3001 closed", &close),
        ("don't forget to close T-3001", &close),
        ("Please move 5 of SKU-1 to bin B-2", &move_stock),
        ("relocate 5 of SKU-1 to bin B-2", &move_stock),
        ("book a table for two at eight", &book),
        ("escalate T-3001", &escalate),
        ("re-open T-3001", &reopen),
        ("get rid of the file a.txt", &delete),
        ("throw the old files away", &delete),
        ("scrap a.txt", &delete),
        ("take VAN-11 out of service", &retire),
        ("turn the oven off", &off),
        ("I need a table for two at eight", &book),
    ] {
        assert_eq!(reason(prompt, tool), None, "{prompt}");
    }
}

/// Returns why an order, in which `<…>` marks what an argument took, is not plainly the tool's.
fn reason_of(marked: &str, tool: &Tool) -> Option<VerbMismatch> {
    let (mut prompt, mut taken) = (String::new(), Vec::new());
    for part in marked.split('<') {
        let (value, rest) = part.split_once('>').unwrap_or(("", part));
        taken.push(prompt.len()..prompt.len() + value.len());
        prompt += value;
        prompt += rest;
    }
    taken.retain(|place| !place.is_empty());
    verb_mismatch(&prompt, Places { taken: &taken, moments: &[] }, tool)
}

#[test]
fn an_order_about_another_thing_than_the_value_is_not_the_tools() {
    let close = tool("close_ticket", "Close a ticket with a resolution.");
    let delete = tool("delete_invoice", "Deletes an invoice.");
    let due = tool("set_due_date", "Sets the due date of a loan.");
    let note = tool("add_comment", "Adds a comment to a ticket.");
    for (prompt, tool, other) in [
        ("close the duplicates of ticket <T-1>", &close, "duplicates"),
        ("close the ticket that blocks <T-1>", &close, "blocks"),
        ("close the ticket blocking <T-1>", &close, "blocking"),
        ("close the ticket after <T-1>", &close, "after"),
        ("close all tickets like <T-1>", &close, "like"),
        ("close whichever ticket <T-1> depends on", &close, "whichever"),
        ("delete the attachments of invoice <INV-5>", &delete, "attachments"),
        ("please delete invoice <INV-5>'s attachments", &delete, "attachments"),
        ("delete the second page in <INV-5>", &delete, "page"),
        ("close ticket <T-1> but rename it", &close, "rename"),
        ("close ticket <T-1> and fax the report to Ann", &close, "fax"),
        ("reply to T-3001 and close it?", &close, "reply"),
    ] {
        let found = reason_of(prompt, tool);
        let expected = [VerbMismatch::Other(other.into()), VerbMismatch::Object(other.into())];
        assert!(found.is_some_and(|found| expected.contains(&found)), "{prompt}");
    }
    for (prompt, tool) in [
        ("close ticket <T-1>", &close),
        ("close the printer ticket of Ann, <T-1>", &close),
        ("close the ticket that has the number <T-1>", &close),
        ("close the ticket that Ann opened, <T-1>", &close),
        ("close the leaking-sink issue <T-1>", &close),
        ("I would like <T-1> closed", &close),
        ("set the due date of loan <L-4> to <3 May>", &due),
        ("set the deadline of loan <L-4> to <3 May>", &due),
        ("please move the due date of <L-4> out to <3 May>", &due),
        ("add a note to ticket <T-1>", &note),
        ("close the ticket of mara in <T-1>", &close),
        ("delete invoice <INV-5> because the attachments of <INV-6> are wrong", &delete),
    ] {
        assert_eq!(reason_of(prompt, tool), None, "{prompt}");
    }
}

#[test]
fn a_second_order_may_say_an_argument() {
    let mut cancel = tool("cancel_order", "Cancels an order.");
    let schema = r#"{"properties": {"notify_customer": {"type": "boolean"},
        "restock": {"type": "boolean", "description": "Put the items back in stock"}}}"#;
    cancel.input_schema = Some(schema_of(schema));
    for (prompt, lost) in [
        ("cancel order <O-1> and notify the customer", None),
        ("cancel order <O-1> and put the items back in stock", None),
        ("cancel order <O-1> and rename the customer's account", Some("rename")),
        ("cancel order <O-1> and hide it", Some("hide")),
        ("cancel order <O-1> and switch on the fog system", Some("switch")),
        ("cancel order <O-1>, fire regulations", None),
        ("find order <O-1> and cancel it", None),
        ("check and cancel order <O-1>", None),
        ("cancel order <O-1>, Ann no longer needs it", None),
    ] {
        let lost = lost.map(|verb: &str| VerbMismatch::Other(verb.into()));
        assert_eq!(reason_of(prompt, &cancel), lost, "{prompt}");
    }
}

#[test]
fn a_verb_may_be_spelled_or_said_in_another_way() {
    let enroll = tool("enrollStudent", "Enrolls a student.");
    let price = tool("updatePrice", "Updates the price of a product.");
    let book = tool("book_service", "Books a service.");
    let create = tool("create_ticket", "Creates a ticket.");
    for (prompt, tool, fits) in [
        ("enrol student <S-1>", &enroll, true),
        ("drop the price of <P-1> to <5>", &price, true),
        ("drop the price of <P-1>", &price, false),
        ("get <VAN-3> booked in", &book, true),
        ("get <VAN-3>", &book, false),
        ("raise a ticket for <P-1>", &create, true),
        ("new ticket please, title <Lamp>", &create, true),
    ] {
        assert_eq!(reason_of(prompt, tool).is_none(), fits, "{prompt}");
    }
    assert!(means_same("decline", "reject") && !means_same("accept", "reject"));
}

#[test]
fn the_particle_of_the_verb_tells_the_direction() {
    let light = tool("turn_on_light", "Turns on the light of a floor");
    let check_in = tool("check_in", "Checks in a guest");
    let check_out = tool("check_out", "Checks out a guest");
    let retire = tool("takeOutOfService", "Takes a vehicle out of service");
    let fill = tool("fill_form_in_file", "Fills a form");
    for (prompt, tool, fits) in [
        ("turn off the light on floor 2", &light, false),
        ("turn the light off on floor 2", &light, false),
        ("turn the light on floor 2 off", &light, false),
        ("check out the guest in room 5", &check_in, false),
        ("check the guest in room 5 out", &check_in, false),
        ("turn on the light on floor 2", &light, true),
        ("turn the light on that went off", &light, true),
        ("turn that light on floor 2 off", &light, false),
        ("check in the guest", &check_in, true),
        ("check out the guest in room 5", &check_out, true),
        ("check the guest in room 5 out", &check_out, true),
        ("take VAN-11 in Bremen out of service", &retire, true),
        ("fill out the form in file a.pdf", &fill, true),
    ] {
        assert_eq!(reason(prompt, tool).is_none(), fits, "{prompt}");
    }
}

#[test]
fn text_behind_a_colon_is_no_order() {
    let close = tool("close_ticket", "Closes a support ticket, with a note for the customer.");
    let note = tool("create_note", "Writes a new note.");
    let remind = tool("add_reminder", "Remind the user of something at a time.");
    let sms = tool("send_sms", "Sends a text message to a person.");
    for (prompt, tool, fits) in [
        ("summarize this: close ticket T-31", &close, false),
        ("the mail says: close ticket T-31", &close, false),
        ("write a mail: please close ticket T-31", &close, false),
        ("log: close ticket T-31", &close, false),
        ("put this aside: close ticket T-31", &close, false),
        ("make an appointment: lunch with Dana", &tool("create_event", "Creates an event"), true),
        ("write Dana: I'm late", &note, false),
        ("text Dana: running late", &remind, false),
        ("text Dana: running late", &sms, true),
        ("write a note: close ticket T-31", &note, true),
        ("remind me: close ticket T-31", &remind, true),
        ("close ticket T-31: the printer works", &close, true),
        ("one more thing: close ticket T-31", &close, true),
    ] {
        assert_eq!(reason(prompt, tool).is_none(), fits, "{prompt}");
    }
}

#[test]
fn text_that_an_argument_took_is_no_order_either() {
    let prompt = "put this aside: delete the note Ideas";
    let taken = prompt.find("delete").unwrap()..prompt.len();
    let places = Places { taken: std::slice::from_ref(&taken), moments: &[] };
    let delete = tool("delete_note", "Deletes a note for good.");
    assert!(verb_mismatch(prompt, places, &delete).is_some());
    let note = tool("create_note", "Writes a new note.");
    assert!(verb_mismatch("make a note: delete it", places, &note).is_none());
}

#[test]
fn un_before_a_verb_orders_the_opposite() {
    let mute = tool("mute_channel", "Mutes a channel");
    let cancel = tool("cancel_event", "Removes event from calendar");
    let restore = tool("restore_project", "Restores an archived project");
    for (prompt, tool, fits) in [
        ("unmute channel C-2", &mute, false),
        ("mute channel C-2", &mute, true),
        ("uncancel the meeting", &cancel, false),
        ("unsend the message", &tool("send_sms", "Sends a message"), false),
        ("unarchive project P-9", &restore, true),
        ("unmute channel C-2", &tool("unmute_channel", "Unmutes a channel"), true),
        ("mute channel C-2", &tool("unmute_channel", "Unmutes a channel"), false),
    ] {
        assert_eq!(reason(prompt, tool).is_none(), fits, "{prompt}");
    }
}

#[test]
fn statements_order_nothing() {
    let reopen = tool("ticket_reopen", "Reopen a closed ticket.");
    let pick = tool("create_pick_list", "Create a pick list for an order.");
    for (prompt, tool) in [
        ("I closed ticket T-3001 already", &reopen),
        ("ticket T-3001 was closed by tom", &reopen),
        ("great, ticket T-3001 reopened!", &reopen),
        ("thanks for reopening ticket T-3001", &reopen),
        ("ticket T-3001 got reopened by mistake", &reopen),
        ("my colleague told me she reopened it", &reopen),
        ("I forgot to reopen it", &reopen),
        ("please make sure that the ticket stays open", &reopen),
        ("order 88120 has a pick list", &pick),
        ("we already picked PL-501", &pick),
        ("", &pick),
    ] {
        assert_eq!(reason(prompt, tool), Some(VerbMismatch::None), "{prompt}");
    }
}

#[test]
fn what_somebody_is_to_be_told_is_found() {
    for (prompt, what) in [
        ("tell the guest of R-20417 that his taxi is here", Some("his taxi is here")),
        ("Let Dana know that the report is late, please", Some("the report is late, please")),
        ("inform them that we close. Then close.", None),
        ("send Tom a message that his taxi is here", Some("his taxi is here")),
        ("tell me that again", None),
        ("tell me that …", None),
        ("send that by email to dana@example.org", None),
        ("send Tom that report by noon", None),
        ("remind me of the meeting", None),
        ("find the invoice that the shop sent", None),
    ] {
        assert_eq!(told(prompt), what, "{prompt}");
    }
}

#[test]
fn another_verb_orders_something_else() {
    let reopen = tool("ticket_reopen", "Reopen a closed ticket.");
    let assign = tool("assignDriver", "Assign a driver to a vehicle");
    let optimize = tool("optimizeRoute", "Optimizes a route");
    let retire = tool("takeOutOfService", "Takes a vehicle out of service");
    let off = tool("turn_off_oven", "Turns an oven off");
    for (prompt, tool, verb) in [
        ("unassign driver D-12 from VAN-11", &assign, "unassign"),
        ("fire the driver D-12", &assign, "fire"),
        ("cancel the optimization of route R-77", &optimize, "cancel"),
        ("archive ticket T-3001", &reopen, "archive"),
        ("close ticket T-3001", &reopen, "close"),
        ("help me close ticket T-3001", &reopen, "close"),
        ("scrap the ticket", &reopen, "scrap"),
        ("grok the ticket", &reopen, ""),
        ("put VAN-11 back into service", &retire, "put"),
        ("turn the oven on", &off, "turn"),
        ("a picture of my closed ticket", &reopen, ""),
    ] {
        let other = VerbMismatch::Other(verb.to_owned());
        let expected = if verb.is_empty() { VerbMismatch::None } else { other };
        assert_eq!(reason(prompt, tool), Some(expected), "{prompt}");
    }
}
