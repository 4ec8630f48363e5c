//! Times of the day and moments.

use super::*;

#[test]
fn a_time_of_the_day_needs_no_offset() {
    let alarm = |time: Value| {
        let schema = object(json!({"time": time}), &["time"]);
        tool("set_alarm", "Sets an alarm clock for a time of day", &schema)
    };
    let formatted = alarm(json!({"type": "string", "format": "time"}));
    let plain = alarm(json!({"type": "string"}));
    for (prompt, written, short) in [
        ("wake me at 6:30", "06:30:00", "06:30"),
        ("set an alarm for 7 am", "07:00:00", "07:00"),
        ("set an alarm for 07:15:20", "07:15:20", "07:15:20"),
        ("set an alarm for today at 18:00", "18:00:00", "18:00"),
    ] {
        assert_eq!(given(&formatted, prompt), json!({"time": written}), "{prompt}");
        assert_eq!(given(&plain, prompt), json!({"time": short}), "{prompt}");
    }
    let schema = json!({"event_id": {"type": "string"}, "new_start": {"type": "string", "format": "date-time"}});
    let schema = object(schema, &["event_id", "new_start"]);
    let event = tool("move_event", "Reschedule an event", &schema);
    let expected = json!({"event_id": "E-3", "new_start": "2026-04-24T10:00:00+02:00"});
    assert_eq!(given(&event, "move event E-3 to friday at 10:00"), expected);
    for prompt in ["set an alarm for tomorrow at 7:30", "set an alarm for 7:30 UTC"] {
        assert_eq!(asked(&formatted, prompt), ["time"], "{prompt}");
    }
}

#[test]
fn a_period_gives_both_of_its_ends() {
    let text = |about: &str| json!({"type": "string", "description": about});
    let schema = json!({"date": text("Day, YYYY-MM-DD"), "time_from": text("Earliest time, HH:MM"),
        "time_to": text("Latest time, HH:MM"), "parcels": {"type": "integer", "description": "Number of parcels"}});
    let pickup = tool("schedule_pickup", "Book a courier", &object(schema, &["date", "parcels"]));
    for (prompt, from, to) in [
        ("book a pickup for tomorrow from 9 to 12, 4 parcels", "09:00", "12:00"),
        ("book a pickup for tomorrow from 3 to 4 pm, 4 parcels", "15:00", "16:00"),
        ("book a pickup for tomorrow between 9 and 17:30, 4 parcels", "09:00", "17:30"),
        ("Abholung für morgen von 9 bis 12 Uhr, 4 Parcels", "09:00", "12:00"),
        ("закажи курьера на завтра с 9 до 12, 4 посылки", "09:00", "12:00"),
    ] {
        let expected =
            json!({"date": "2026-04-21", "time_from": from, "time_to": to, "parcels": 4});
        assert_eq!(given(&pickup, prompt), expected, "{prompt}");
    }
    let day = || json!({"type": "string", "format": "date"});
    let leave = object(json!({"from": day(), "to": day()}), &["from", "to"]);
    let leave = tool("request_leave", "Request days off", &leave);
    for prompt in [
        "request leave from 6 to 17 July",
        "request leave from July 6 to 17",
        "quiero vacaciones del 6 al 17 de julio",
        "оформи отпуск с 6 по 17 июля",
        "je veux des congés du 6 au 17 juillet",
    ] {
        let expected = json!({"from": "2026-07-06", "to": "2026-07-17"});
        assert_eq!(given(&leave, prompt), expected, "{prompt}");
    }
}

#[test]
fn a_number_before_a_day_and_a_range_of_another_thing_are_no_period() {
    let day = || json!({"type": "string", "format": "date"});
    let schema = json!({"check_in": day(), "check_out": day(), "guests": {"type": "integer"}});
    let hotel = tool("book_hotel", "Book a hotel for guests", &object(schema, &["check_in"]));
    for prompt in
        ["reserva un hotel para 2 guests el 17 de julio", "забронируй отель на 2 guests 17 июля"]
    {
        let read = prepare(&hotel, prompt);
        assert_ne!(
            read.arguments.get("check_out"),
            Some(&json!("2026-07-17")),
            "{prompt}: {read:?}"
        );
    }
    let text = |about: &str| json!({"type": "string", "description": about});
    let schema = json!({"time_from": text("Start, HH:MM"), "time_to": text("End, HH:MM"),
        "volume": {"type": "integer"}});
    let quiet = tool("set_quiet_hours", "Set the quiet hours", &object(schema, &[]));
    for (prompt, from, to) in [
        ("set quiet hours from 2 to 9 pm", "14:00", "21:00"),
        ("set quiet hours from 9 to 5 pm", "09:00", "17:00"),
        ("set quiet hours from 8 to 20:30", "08:00", "20:30"),
    ] {
        let expected = json!({"time_from": from, "time_to": to});
        assert_eq!(given(&quiet, prompt), expected, "{prompt}");
    }
    for prompt in ["set quiet hours volume from 8 to 10", "set quiet hours from 2 to 4"] {
        let read = prepare(&quiet, prompt);
        assert!(!read.arguments.contains_key("time_from"), "{prompt}: {read:?}");
    }
}

#[test]
fn a_reminder_is_of_a_thing_and_of_no_time() {
    let text = || json!({"type": "string"});
    let schema = json!({"text": text(), "at": {"type": "string", "format": "date-time"}});
    let remind = tool("set_reminder", "Sets a reminder", &object(schema, &["text"]));
    let texts = |prompt: &str| prepare(&remind, prompt).arguments.get("text").cloned();
    assert_eq!(texts("remind me of the rent"), Some(json!("the rent")));
    for prompt in [
        "remind me tomorrow at 9 about the rent",
        "remind me every Monday about the rent",
        "remind Ana about the rent",
        "snooze the reminder for 10 minutes",
        "remind me of",
    ] {
        assert_eq!(texts(prompt), None, "{prompt}");
    }
}
