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
