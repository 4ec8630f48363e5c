//! Names of programs, statements, listed values in other words, and moments that something is moved to.

use super::*;

fn given(name: &str, about: &str, schema: &Value, prompt: &str) -> Value {
    json!(prepare(&tool(name, about, schema), prompt).arguments)
}

#[test]
fn identifiers_need_no_noun() {
    let schema = |name: &str| object(json!({name: {"type": "string"}}), &[name]);
    for (tool, about, name, prompt, value) in [
        ("suspendWarehouse", "Suspend a warehouse", "warehouse", "suspend wh_adhoc", "wh_adhoc"),
        ("preview_table", "Show rows of a table", "table", "rows of raw.payments", "raw.payments"),
        (
            "pausePipeline",
            "Pause a pipeline",
            "name",
            "pause the nightly-load pipeline",
            "nightly-load",
        ),
        ("evaluate_model", "Evaluate a model", "model", "evaluate churn-net", "churn-net"),
        ("block_ip", "Block an address", "ip", "block 185.220.101.47", "185.220.101.47"),
        ("block_ip", "Block a range", "cidr", "block 10.2.0.0/16", "10.2.0.0/16"),
        ("notebook_stop", "Stop a notebook server", "name", "stop notebook eda", "eda"),
        ("service_restart", "Restarts a service", "service", "Restart nginx", "nginx"),
        ("service_restart", "Restarts a service", "service", "restart the nginx service", "nginx"),
    ] {
        assert_eq!(given(tool, about, &schema(name), prompt), json!({name: value}), "{prompt}");
    }
    // A call that destroys something is confirmed by a person before it is made.
    let drop = given("drop_table", "Drops a table", &schema("table"), "drop raw.payments");
    assert_eq!(drop, json!({"table": "raw.payments"}));
}

#[test]
fn a_statement_is_taken_whole() {
    let schema =
        object(json!({"sql": {"type": "string", "description": "The SQL query"}}), &["sql"]);
    let ask = |prompt: &str| given("run_query", "Runs a query", &schema, prompt);
    for statement in [
        "select count(*) from orders where status = 'open'",
        "SELECT id\nFROM users WHERE name = 'Ann' AND city = 'Rome'",
        "with t as (select 1) select * from t",
    ] {
        assert_eq!(ask(&format!("run {statement}.")), json!({"sql": statement}));
    }
    assert_eq!(ask("run \"select 1\""), json!({"sql": "select 1"}));
    assert_eq!(ask("select the right query"), json!({}));
}

#[test]
fn listed_values_have_other_words() {
    let schema = object(
        json!({"order": {"enum": ["asc", "desc"]}, "tier": {"enum": ["tier1", "tier3"]},
               "opacity": {"type": "number", "description": "0 to 100"}}),
        &[],
    );
    let ask = |prompt: &str| given("list_rows", "Lists rows", &schema, prompt);
    assert_eq!(ask("list the rows in descending order"), json!({"order": "desc"}));
    assert_eq!(ask("list the rows of tier 3"), json!({"tier": "tier3"}));
    assert_eq!(ask("rows with opacity 40 %"), json!({"opacity": 40}));
}

#[test]
fn what_is_moved_begins_at_the_moment() {
    let moment = || json!({"type": "string", "format": "date-time"});
    let schema = object(
        json!({"event_id": {"type": "string"}, "start": moment(), "end": moment()}),
        &["event_id"],
    );
    let move_it = |prompt: &str| given("update_event", "Changes an event", &schema, prompt);
    let start = "2026-04-21T11:00:00+02:00";
    assert_eq!(
        move_it("move evt_301 to tomorrow at 11:00"),
        json!({"event_id": "evt_301", "start": start})
    );
    let (end, both) =
        ("2026-04-21T12:00:00+02:00", "set evt_301 from tomorrow 11:00 to tomorrow 12:00");
    assert_eq!(move_it(both), json!({"event_id": "evt_301", "start": start, "end": end}));
    let schema = object(json!({"day": {"type": "string", "format": "date"}}), &[]);
    let hours = |prompt| given("opening_hours", "Hours of a day", &schema, prompt);
    assert_eq!(hours("when do you open on Saturday?"), json!({"day": "2026-04-25"}));
}

#[test]
fn numbers_of_people_and_names_have_their_words() {
    let schema = object(
        json!({"guest_name": {"type": "string"}, "party_size": {"type": "integer"},
               "table": {"type": "integer"}}),
        &["guest_name", "party_size"],
    );
    let book = |prompt: &str| given("make_reservation", "Reserves a table", &schema, prompt);
    let expected = json!({"guest_name": "Clara Whitfield", "party_size": 6});
    for prompt in [
        "Book a table for 6 people under the name Clara Whitfield",
        "reserve a table for six, name Clara Whitfield",
    ] {
        assert_eq!(book(prompt), expected, "{prompt}");
    }
    let schema =
        object(json!({"from": {"type": "string"}, "to": {"type": "string"}}), &["from", "to"]);
    let buy = |prompt| given("buy_ticket", "Buys a ticket", &schema, prompt);
    assert_eq!(buy("buy a ticket from Leeds to York"), json!({"from": "Leeds", "to": "York"}));
}

#[test]
fn values_of_the_form_that_a_schema_shows_need_no_name() {
    let zone = json!({"type": "string", "description": "Zone, e.g. `south-3`."});
    let until = json!({"type": "string", "format": "date-time"});
    let lock = object(json!({"zone": zone, "until": until}), &["zone", "until"]);
    let said = given("lock-zone", "Locks a zone", &lock, "Lock east-3 until tomorrow 8 am");
    assert_eq!(said, json!({"zone": "east-3", "until": "2026-04-21T08:00:00+02:00"}));
    let barcode =
        object(json!({"barcode": {"type": "string", "pattern": "^\\d{12}$"}}), &["barcode"]);
    let renew = given("renew_loan", "Extend a loan", &barcode, "Please renew 301140087762.");
    assert_eq!(renew, json!({"barcode": "301140087762"}));
    let zone = object(json!({"time_zone": {"type": "string"}}), &["time_zone"]);
    let clock = given("set_zone", "Sets the clock", &zone, "set it to Europe/Berlin");
    assert_eq!(clock, json!({"time_zone": "Europe/Berlin"}));
}

#[test]
fn a_name_with_a_number_and_a_file_of_any_kind_are_taken() {
    let printer = json!({"printer": {"type": "string"}});
    let printer = object(printer, &["printer"]);
    let pause = |prompt: &str| given("pause_print", "Pause the current job.", &printer, prompt);
    for (prompt, name) in [("pause mk4-1", "mk4-1"), ("pause the job on ender1", "ender1")] {
        assert_eq!(pause(prompt), json!({"printer": name}), "{prompt}");
    }
    for other in ["pause ticket-3", "pause mk4-1 and mk4-2"] {
        assert_eq!(pause(other), json!({}), "{other}");
    }
    let print = json!({"printer": {"type": "string"}, "filename": {"type": "string"}});
    let print = object(print, &["printer", "filename"]);
    let said = given("start_print", "Start printing a file.", &print, "print hook.gcode on voron1");
    assert_eq!(said, json!({"printer": "voron1", "filename": "hook.gcode"}));
    let tag =
        object(json!({"title": {"type": "string"}, "tag": {"type": "string"}}), &["title", "tag"]);
    let said = given("add_tag", "Tag a note.", &tag, "tag \"Taxes\" with \"finance\"");
    assert_ne!(said, json!({"title": "finance", "tag": "Taxes"}));
}

#[test]
fn a_number_that_is_left_is_the_number_that_is_needed() {
    let build = json!({
        "pipeline": {"type": "string", "description": "Pipeline slug."},
        "number": {"type": "integer", "description": "Build number."}});
    let build = object(build, &["pipeline", "number"]);
    let rebuild = |prompt: &str| given("put_build_rebuild", "Runs a build again", &build, prompt);
    let expected = json!({"pipeline": "mobile-ios", "number": 558});
    assert_eq!(rebuild("rebuild mobile-ios 558"), expected);
    for other in ["rebuild mobile-ios with Xcode 15", "rebuild mobile-ios for 3 failing tests"] {
        assert_eq!(rebuild(other), json!({"pipeline": "mobile-ios"}), "{other}");
    }
    for name in ["id", "number"] {
        let issue = object(json!({name: {"type": "integer"}}), &[name]);
        let close = |prompt: &str| given("close_issue", "Close an issue", &issue, prompt);
        assert_eq!(close("close issue 12"), json!({name: 12}));
        assert_eq!(close("close the issue of flight 12"), json!({}));
    }
    let branch = json!({"pipeline": {"type": "string"}, "branch": {"type": "string"}});
    let branch = object(branch, &["pipeline", "branch"]);
    for name in ["main", "release/3.2", "fix-12"] {
        let prompt = format!("kick off a build of docs-site on branch {name}");
        let said = given("create_build", "Triggers a build", &branch, &prompt);
        assert_eq!(said, json!({"pipeline": "docs-site", "branch": name}), "{prompt}");
    }
}

#[test]
fn the_only_code_is_the_only_value_that_is_needed() {
    let train = json!({
        "config": {"type": "string", "description": "Path of the configuration"},
        "gpuCount": {"type": "integer", "description": "GPUs to allocate"}});
    let train = object(train, &["config"]);
    let said = given("startTraining", "Submit a job", &train, "kick off conf/net50.yaml on 4 gpus");
    assert_eq!(said, json!({"config": "conf/net50.yaml", "gpuCount": 4}));
    let version = json!({"model": {"type": "string"}, "version": {"type": "integer"}});
    let version = object(version, &["model", "version"]);
    let drop = |prompt: &str| given("deleteModelVersion", "Deletes a version", &version, prompt);
    assert_eq!(
        drop("throw away version 3 of churn-model"),
        json!({"model": "churn-model", "version": 3})
    );
    assert_eq!(drop("delete a copy of churn-model"), json!({}));
    let file = json!({"runId": {"type": "string"}, "path": {"type": "string"}});
    let file = object(file, &["runId", "path"]);
    let get = |prompt: &str| given("getFile", "Reads a file that a run saved", &file, prompt);
    assert_eq!(get("get a/b.pt from 9bd21"), json!({"runId": "9bd21", "path": "a/b.pt"}));
    assert_eq!(get("get a/b.pt in 500ml"), json!({"path": "a/b.pt"}));
}
