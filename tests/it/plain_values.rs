//! Values that a prompt plainly gives are used, or lead to a question: through the command line, with
//! servers of a hospital and a bank.

use std::process::Output;

use serde_json::{Value, json};

use crate::stand_ins::{journal, scripted};
use crate::support::Sandbox;

fn hospital() -> Sandbox {
    let tool = |name: &str, about: &str, destroys: bool, schema: Value| {
        json!({"name": name, "description": about, "inputSchema": schema, "does": {"answer": "done"},
               "annotations": {"readOnlyHint": false, "destructiveHint": destroys}})
    };
    let text = json!({"type": "string"});
    let ward = json!({"enum": ["surgery", "maternity"], "default": "surgery"});
    let invoice = json!({"type": "string", "description": "Invoice, e.g. INV-17"});
    let admit = json!({"type": "object", "required": ["patient_id"],
                       "properties": {"patient_id": text, "ward": ward}});
    let stay = json!({"type": "object", "required": ["stay_id"], "properties": {"stay_id": text}});
    let mail = json!({"type": "object", "required": ["invoice_id"],
                      "properties": {"invoice_id": invoice}});
    let find = json!({"type": "object", "properties": {"q": text}});
    let mut staff = tool("find_staff", "Searches the staff of the hospital", false, find);
    staff["annotations"] = json!({"readOnlyHint": true});
    staff["does"] = json!({"error": "no person Abu Ali"});
    scripted(&[(
        "hospital",
        json!([
            tool("admit_patient", "Admits a patient to a ward", false, admit),
            tool("end_stay", "Ends a stay for good", true, stay),
            tool("mail_invoice", "Mails an invoice of the hospital again", false, mail),
            staff,
        ]),
    )])
}

fn said(sandbox: &Sandbox, args: &[&str]) -> (Option<i32>, String) {
    let servers = sandbox.arg("servers.json");
    let output = sandbox.toolroute().args(args).args(["--servers", &servers]).output().unwrap();
    let Output { status, stdout, stderr } = output;
    (status.code(), String::from_utf8([stdout, stderr].concat()).unwrap())
}

fn run<'a>(prompt: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "--model", "static", "--min-confidence", "0", prompt], more].concat()
}

#[test]
fn a_listed_value_is_taken_and_the_default_is_not_acted_on() {
    let sandbox = hospital();
    let (code, told) = said(&sandbox, &run("admit patient P-7, she needs maternity care", &[]));
    assert_eq!(code, Some(0), "{told}");
    let expected = r#"admit_patient {"patient_id": "P-7", "ward": "maternity"}"#;
    assert_eq!(journal(&sandbox, "hospital"), [expected]);
}

#[test]
fn a_tool_that_may_change_something_is_not_called_with_a_value_lost() {
    let sandbox = hospital();
    for (prompt, value) in [
        ("mail invoice INV-18 of the hospital again with 50 euros off", "50 euros"),
        ("mail invoice INV-18 again to ann@example.org", "ann@example.org"),
    ] {
        let (code, told) = said(&sandbox, &run(prompt, &[]));
        assert_eq!(code, Some(2), "{told}");
        assert!(told.contains(&format!("no parameter takes \"{value}\"")), "{told}");
        assert!(told.contains("call the tool by its name"), "{told}");
    }
    assert_eq!(journal(&sandbox, "hospital"), [] as [&str; 0]);
    let (code, told) = said(&sandbox, &run("mail invoice INV-18 again", &[]));
    assert_eq!(code, Some(0), "{told}");
    let named = ["call", "mail_invoice", "--prompt", "mail INV-18 with 50 euros off"];
    let (code, told) = said(&sandbox, &named);
    assert!(code == Some(0) && told.contains("not used: 50 euros (number)"), "{told}");
}

#[test]
fn the_id_of_another_thing_is_not_destroyed_and_a_dry_run_says_what_needs_a_yes() {
    let sandbox = hospital();
    for prompt in ["end ward W-3", "remove doctor DR-4 from OR-2", "delete W-3"] {
        let (code, told) = said(&sandbox, &["call", "end_stay", "--prompt", prompt, "--yes"]);
        assert!(code == Some(2) && told.contains("may be another thing"), "{prompt}: {told}");
    }
    let dry = ["call", "end_stay", "--prompt", "end stay S-3", "--dry-run"];
    let (code, told) = said(&sandbox, &dry);
    assert!(code == Some(0) && told.contains("\"stay_id\": \"S-3\""), "{told}");
    assert!(told.contains("only with --yes") && told.contains("needs_confirmation"), "{told}");
    let harmless = ["call", "admit_patient", "--prompt", "P-3", "--dry-run"];
    assert!(!said(&sandbox, &harmless).1.contains("needs_confirmation"));
    assert_eq!(journal(&sandbox, "hospital"), [] as [&str; 0]);
}

#[test]
fn a_search_has_its_phrase_and_a_failure_the_words_of_the_tool() {
    let sandbox = hospital();
    let search = ["call", "find_staff", "--prompt", "search the staff for Abu Ali"];
    let (code, told) = said(&sandbox, &search);
    assert_eq!(code, Some(1), "{told}");
    assert!(
        told.contains(r#"hospital__find_staff could not do it: "no person Abu Ali"."#),
        "{told}"
    );
    assert_eq!(journal(&sandbox, "hospital"), [r#"find_staff {"q": "Abu Ali"}"#]);
}
