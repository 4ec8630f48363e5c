use super::*;

fn tool(name: &str, description: &str) -> Tool {
    Tool::new(Some("desk"), name, description)
}

fn reason(prompt: &str, tool: &Tool) -> Option<VerbMismatch> {
    verb_mismatch(prompt, Places::default(), tool)
}

#[test]
fn a_description_names_what_its_tool_does_by_a_noun_or_a_participle() {
    let move_money = tool("createPayment", "Initiate a bank transfer. Returns its state.");
    let solve = tool("finish_case", "Marks a case as solved");
    let reopen = tool("case_reopen", "Reopens a case that was marked as solved");
    assert_eq!(reason("transfer 5 EUR to Ann", &move_money), None);
    assert_eq!(reason("solve case 7", &solve), None);
    assert_eq!(reason("solve case 7", &reopen), Some(VerbMismatch::Other("solve".into())));
    assert!(reason("cancel payment 7", &move_money).is_some());
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
        ("reply to T-3001 and close it?", &close),
        ("get rid of the file a.txt", &delete),
        ("throw the old files away", &delete),
        ("scrap a.txt", &delete),
        ("take VAN-11 out of service", &retire),
        ("turn the oven off", &off),
        ("I need a table for two at eight", &book),
        ("order the stock that is in bin 4 to be moved, and move it", &move_stock),
    ] {
        assert_eq!(reason(prompt, tool), None, "{prompt}");
    }
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
