use super::*;

#[test]
fn a_name_suggests_what_its_first_verb_does() {
    for (name, kind) in [
        ("datagov_query", EffectKind::ReadsOnly),
        ("perplexity-search", EffectKind::ReadsOnly),
        ("share_search", EffectKind::Unknown),
        ("change_guest_count", EffectKind::Unknown),
        ("check_in_guest", EffectKind::Writes),
        ("checkOut", EffectKind::Writes),
        ("check_invoice", EffectKind::ReadsOnly),
        ("get_run", EffectKind::ReadsOnly),
        ("getDeletedItems", EffectKind::ReadsOnly),
        ("find_and_replace", EffectKind::Writes),
        ("get_or_create_user", EffectKind::Writes),
        ("sql_query_execute", EffectKind::Writes),
        ("run_query", EffectKind::Writes),
        ("list_and_delete", EffectKind::Destructive),
        ("deleteFile", EffectKind::Destructive),
        ("frobnicate", EffectKind::Unknown),
        ("cancel_order", EffectKind::Destructive),
        ("subscription_cancel", EffectKind::Destructive),
        ("terminateInstance", EffectKind::Destructive),
        ("fire_employee", EffectKind::Destructive),
        ("fire_event", EffectKind::Unknown),
        ("format_drive", EffectKind::Destructive),
        ("format_date", EffectKind::Unknown),
        ("transfer_money", EffectKind::Destructive),
        ("transfer_call", EffectKind::Unknown),
        ("wire_transfer", EffectKind::Destructive),
        ("close_account", EffectKind::Destructive),
        ("close_ticket", EffectKind::Writes),
        ("reset_database", EffectKind::Destructive),
        ("reset_view", EffectKind::Writes),
        ("empty_trash", EffectKind::Destructive),
        ("execute_sql", EffectKind::Destructive),
        ("shutdown", EffectKind::Destructive),
        ("buy_stock", EffectKind::Destructive),
        ("send_payment", EffectKind::Destructive),
        ("send_payment_reminder", EffectKind::Writes),
        ("list_bans", EffectKind::ReadsOnly),
        ("get_cancel_reason", EffectKind::ReadsOnly),
    ] {
        assert_eq!(kind_of_texts(name, ""), kind, "{name}");
    }
}

#[test]
fn a_query_that_only_selects_reads() {
    use EffectKind::{Destructive, ReadsOnly, Writes};
    for (name, description, kind) in [
        ("read_query", "Execute a SELECT query on the SQLite database", ReadsOnly),
        ("read_query", "Execute a SELECT query or a DELETE statement", Writes),
        ("read_query", "Run a SELECT query. INTO is allowed.", Writes),
        ("sql", "Execute a SELECT query", Writes),
        ("delete_rows", "Run a SELECT statement to choose the rows", Destructive),
    ] {
        assert_eq!(kind_of_texts(name, description), kind, "{name}: {description}");
    }
}

#[test]
fn a_description_decides_where_the_name_does_not_and_writing_counts_in_either() {
    use EffectKind::{Destructive, ReadsOnly, Unknown, Writes};
    for (name, description, kind) in [
        ("datagov_query", "Queries the open data of the government.", ReadsOnly),
        ("points_balance", "Get the balance of a member.", ReadsOnly),
        ("room_status", "Returns the state of each room.", ReadsOnly),
        ("weather", "Current weather of a city", Unknown),
        ("change_guest_count", "Guests of an event, for the kitchen", Unknown),
        ("change_guest_count", "Changes the number of guests. Get it from the host.", Writes),
        ("inspect_room", "Record the supervisor's inspection", Writes),
        ("get_order", "Order details: a status, and the lines", ReadsOnly),
        ("get_shift", "Get start and stop times", ReadsOnly),
        ("get_ticket", "Gets the next ticket and closes it", Writes),
        ("list_inbox", "Lists messages and deletes them", Destructive),
        ("return_item", "Return an item to the shop", Unknown),
        ("rules", "Set of rules", Unknown),
        ("git_diff", "Shows differences between branches or commits", ReadsOnly),
        ("tidy", "Shows the branches and commits all changes", Writes),
        ("between_accounts", "Moves money between own accounts.", Destructive),
        ("remind", "Sends a payment reminder by email", Writes),
        ("halt", "Shuts the machine down", Unknown),
        ("renew", "Resets the database to its initial state", Destructive),
        ("save", "Writes a file and will completely overwrite an existing one", Destructive),
        ("transfer", "Move the call to a colleague", Writes),
        ("book_end", "Closes an account", Destructive),
        ("report_stolen", "Permanently block a card", Destructive),
        ("checkin", "Check in a guest", Writes),
        ("arrival", "Checks a guest in.", Writes),
        ("weather", "Check the weather in a city", ReadsOnly),
        ("add", "Add two numbers", ReadsOnly),
        ("multiply", "Multiplies two numbers together and returns the product.", ReadsOnly),
        ("add_plate", "Add a number plate", Writes),
        ("add_numbers", "Add numbers for a customer's phone plan", Writes),
        ("add_numbers", "Add numbers to the block list", Writes),
        ("convert_currency", "Convert an amount from one currency to another", ReadsOnly),
        ("convert_time", "Convert time between timezones", ReadsOnly),
        ("convert_currency", "Converts an amount of your balance into euros", Unknown),
        ("convert_image", "Convert an image to another format", Unknown),
        (
            "inbox",
            "Finds all messages older than the given number of days and deletes them.",
            Destructive,
        ),
        ("user_hygiene", "Finds inactive users and deletes accounts", Destructive),
        ("sed", "Search and replace text in files", Unknown),
        ("stock", "Checks stock and orders missing articles", Writes),
        ("closeAccount", "Close the account. This cannot be undone.", Destructive),
        ("shops", "Locate nearby shops", ReadsOnly),
        ("shops", "This function retrieves the shops of a town.", ReadsOnly),
        ("estimate", "Estimate for a customer", Unknown),
        ("estimate", "Estimates the price and sends it", Writes),
        ("bring_back_car", "Returns a car to the station", Unknown),
        ("ban_list", "Lists the players who may not join", ReadsOnly),
        ("booking", "Cancels a booking.", Destructive),
        ("assign", "Sets or clears the owner", Writes),
    ] {
        assert_eq!(kind_of_texts(name, description), kind, "{name}: {description}");
    }
}

#[test]
fn declarations_count_over_the_name_and_the_worse_of_two_counts() {
    let effects = |name: &str, read_only, destructive, idempotent| {
        let mut tool = Tool::new(None, name, "");
        tool.hints.read_only = read_only;
        (tool.hints.destructive, tool.hints.idempotent) = (destructive, idempotent);
        tool.effects()
    };
    let of = |kind, idempotent, from| Effects { kind, idempotent, from };
    use EffectKind::{Destructive, ReadsOnly, Unknown, Writes};
    use EffectSource::{Hint, Nothing, Text};
    assert_eq!(effects("delete", Some(true), None, None), of(ReadsOnly, true, Hint));
    assert_eq!(effects("read", Some(true), Some(true), None), of(Destructive, false, Hint));
    assert_eq!(effects("remove", None, Some(false), None), of(Writes, false, Hint));
    assert_eq!(effects("remove", Some(false), None, None), of(Destructive, false, Text));
    assert_eq!(effects("read", None, None, None), of(ReadsOnly, false, Text));
    assert_eq!(effects("update", None, None, Some(true)), of(Writes, true, Text));
    assert_eq!(effects("zap", None, None, None), of(Unknown, false, Nothing));
    assert!(!effects("read", None, None, None).declares_reads_only());
}
