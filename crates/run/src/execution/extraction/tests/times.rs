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
