use jiff::Zoned;
use jiff::tz::TimeZone;

use super::*;

/// A Monday at 10:30.
fn now() -> Zoned {
    "2026-04-20T10:30:00+02:00[+02:00]".parse().unwrap()
}

/// Formats each expression that is found as a line, with alternative days and times joined by `|`.
fn read(text: &str, tense: Tense) -> Vec<String> {
    let joined = |parts: Vec<String>| parts.join("|");
    let line = |(span, said): (Range<usize>, TimeExpression)| {
        let said = match said {
            TimeExpression::When(when) => {
                let days = joined(when.days.iter().map(ToString::to_string).collect());
                let times = joined(
                    when.times.iter().map(|time| time.strftime("%H:%M").to_string()).collect(),
                );
                let zone = match when.zone {
                    Zone::Local => String::new(),
                    Zone::Fixed(offset) => offset.to_string(),
                    Zone::Ambiguous(zone) => format!("?{zone}"),
                };
                [days, times, zone]
                    .into_iter()
                    .filter(|part| !part.is_empty())
                    .collect::<Vec<_>>()
                    .join(" ")
            }
            TimeExpression::Period(period) => {
                joined(period.readings.iter().map(|(a, b)| format!("{a}..{b}")).collect())
            }
            TimeExpression::Unclear => "?".to_owned(),
        };
        format!("{}: {said}", &text[span])
    };
    scan(text, &now(), tense).into_iter().map(line).collect()
}

#[test]
fn days_and_times_are_read_as_they_are_written() {
    for (text, expected) in [
        ("on 2026-05-03", "2026-05-03: 2026-05-03"),
        ("3 May 2026", "3 May 2026: 2026-05-03"),
        ("the 3rd of May, 2026", "3rd of May, 2026: 2026-05-03"),
        ("May 3rd, 2026", "May 3rd, 2026: 2026-05-03"),
        ("Sept. 3 2025", "Sept. 3 2025: 2025-09-03"),
        ("30.4.2026", "30.4.2026: 2026-04-30"),
        ("25/12/2026", "25/12/2026: 2026-12-25"),
        ("03/04/2026", "03/04/2026: 2026-03-04|2026-04-03"),
        ("05/05/2026", "05/05/2026: 2026-05-05"),
        ("3/4/26", "3/4/26: ?"),
        ("2026/05/03", "2026/05/03: 2026-05-03"),
        ("tomorrow", "tomorrow: 2026-04-21"),
        ("the day after tomorrow", "the day after tomorrow: 2026-04-22"),
        ("in 3 days", "in 3 days: 2026-04-23"),
        ("two weeks ago", "two weeks ago: 2026-04-06"),
        ("in a month", "in a month: 2026-05-20"),
        ("in 90 minutes", "in 90 minutes: 2026-04-20 12:00"),
        ("tomorrow at 5pm", "tomorrow at 5pm: 2026-04-21 17:00"),
        ("9:30 a.m. on 7 May 2026", "9:30 a.m. on 7 May 2026: 2026-05-07 09:30"),
        ("tomorrow at 5", "tomorrow at 5: 2026-04-21 05:00|17:00"),
        ("tomorrow at noon", "tomorrow at noon: 2026-04-21 12:00"),
        ("12 am", "12 am: 00:00"),
        ("at 17:45 UTC", "17:45 UTC: 17:45 +00"),
        ("at 3pm EST", "3pm EST: 15:00 ?EST"),
        ("2026-06-01T12:00:00-05:00", "2026-06-01T12:00:00-05:00: 2026-06-01 12:00 -05"),
        ("2026-06-01 12:00", "2026-06-01 12:00: 2026-06-01 12:00"),
        ("3-9 May 2026", "3-9 May 2026: 2026-05-03..2026-05-09"),
        ("May 3rd and 9th, 2026", "May 3rd and 9th, 2026: 2026-05-03..2026-05-09"),
        ("May 2026", "May 2026: 2026-05-01..2026-05-31"),
        ("last month", "last month: 2026-03-01..2026-03-31"),
        ("next week", "next week: 2026-04-26..2026-05-02|2026-04-27..2026-05-03"),
        ("next Friday", "next Friday: 2026-04-24|2026-05-01"),
        ("next Monday", "next Monday: 2026-04-27"),
        ("this Friday", "this Friday: 2026-04-24"),
        ("last Friday", "last Friday: 2026-04-17"),
        ("on Monday", "Monday: 2026-04-20|2026-04-27"),
        ("since Friday", "Friday: 2026-04-17"),
        ("since 3 May", "3 May: 2025-05-03"),
        ("in May", "May: ?"),
        ("31.4.2026", "31.4.2026: ?"),
        ("by the end of next month", "end of next month: ?"),
        ("the first Monday of May 2026", "first Monday of May 2026: ?"),
        ("two days after 3 May 2026", "3 May 2026: ?"),
    ] {
        assert_eq!(read(text, Tense::Unknown), [expected], "{text}");
    }
}

#[test]
fn what_is_no_day_is_left_alone() {
    for text in [
        "version 1.2.2026.3",
        "v2026-05-03x",
        "at 5",
        "5 results",
        "1:2:3:4",
        "31 February 2026",
        "/logs/2026-05-03.txt",
        "room 25",
        "24/7",
        "https://example.org/2026/05/03/a",
        "marching 5",
        "25:61",
    ] {
        let found = read(text, Tense::Unknown);
        let is_clear = |line: &String| !line.ends_with('?');
        assert!(!found.iter().any(is_clear), "{text}: {found:?}");
    }
}

#[test]
fn a_day_without_a_year_follows_the_tense_or_the_calendar() {
    assert_eq!(read("5 May", Tense::Unknown), ["5 May: 2026-05-05"]);
    assert_eq!(read("5 March", Tense::Unknown), ["5 March: 2026-03-05"]);
    assert_eq!(read("5 March", Tense::Future), ["5 March: 2027-03-05"]);
    assert_eq!(read("5 October", Tense::Unknown), ["5 October: 2025-10-05|2026-10-05"]);
    assert_eq!(read("5 October", Tense::Past), ["5 October: 2025-10-05"]);
    assert_eq!(read("29 February", Tense::Future), ["29 February: 2028-02-29"]);
    let both = ["20 December: 2025-12-20", "5 January 2026: 2026-01-05"];
    assert_eq!(read("from 20 December to 5 January 2026", Tense::Past), both);
    let same = ["3 July: 2025-07-03", "9 July 2025: 2025-07-09"];
    assert_eq!(read("from 3 July to 9 July 2025", Tense::Unknown), same);
}

#[test]
fn a_moment_is_written_once_or_not_at_all() {
    let moment = |text: &str, zone: &TimeZone| {
        let said = scan(text, &now(), Tense::Future).remove(0).1;
        let TimeExpression::When(when) = said else { panic!("{text}") };
        when.moments(zone, None)
    };
    let one = |moment: &str| Some(vec![moment.to_owned()]);
    let two = TimeZone::fixed(Offset::constant(2));
    assert_eq!(moment("tomorrow at 15:00", &two), one("2026-04-21T15:00:00+02:00"));
    assert_eq!(moment("2026-06-01T12:00:00Z", &two), one("2026-06-01T12:00:00Z"));
    assert_eq!(moment("tomorrow at 5", &two).unwrap().len(), 2);
    // The clocks of Berlin skip 2:30 on 29 March 2026 and show it twice on 25 October.
    let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
    assert_eq!(moment("29 March 2026 at 2:30", &berlin), None);
    assert_eq!(moment("25 October 2026 at 2:30", &berlin), None);
    assert_eq!(moment("1 July 2026 at 2:30", &berlin), one("2026-07-01T02:30:00+02:00"));
    assert_eq!(moment("1 December 2026 at 2:30", &berlin), one("2026-12-01T02:30:00+01:00"));
}

#[test]
fn times_in_words_are_read() {
    for (text, expected) in [
        ("half past nine in the morning", &["half past nine in the morning: 09:30"][..]),
        ("quarter to 7 in the evening", &["quarter to 7 in the evening: 18:45"]),
        ("tomorrow at six o'clock", &["tomorrow at six o'clock: 2026-04-21 06:00|18:00"]),
        ("9:15 in the morning", &["9:15 in the morning: 09:15"]),
        ("14:00 in the afternoon", &["14:00 in the afternoon: 14:00"]),
        ("twenty past eight pm", &["twenty past eight pm: 20:20"]),
        ("five to ten people", &[]),
        ("quarter to 12 in the evening", &["quarter to 12 in the evening: 23:45"]),
        ("ten to twelve in the morning", &["ten to twelve in the morning: 11:50"]),
        ("five to one pm", &["five to one pm: 12:55"]),
        ("from ten to eleven am", &[]),
        ("thirty five past six am", &[]),
        ("chapter two in the morning", &[]),
        ("at twelve in the evening", &[]),
        ("half past nine", &[]),
    ] {
        assert_eq!(read(text, Tense::Future), expected, "{text}");
    }
}
