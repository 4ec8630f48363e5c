use super::*;

fn read(text: &str, has_rest: bool) -> Vec<String> {
    let now: Zoned = "2026-04-20T10:30:00+02:00[+02:00]".parse().unwrap();
    let how = Scan {
        now: &now,
        tense: Tense::Unknown,
        has_rest,
        has_times: true,
        has_addresses: true,
        has_regions: false,
    };
    let line = |mention: Mention| {
        let said = match mention.content {
            Content::Quoted(text) => format!("quoted {text}"),
            Content::Rest(text) => format!("rest {text}"),
            Content::Url(text) => format!("url {text}"),
            Content::Email(text) => format!("email {text}"),
            Content::Path(text) => format!("path {text}"),
            Content::Currency(code) => format!("currency {code}"),
            Content::Token(text) => format!("token {text}"),
            Content::Place(text) => format!("place {text}"),
            Content::Address(text) => format!("address {text}"),
            Content::When(_) | Content::Period(_) => "time".to_owned(),
            Content::Unclear => "unclear".to_owned(),
            Content::Amount(amount) => told(&amount),
            Content::List(items) => serde_json::json!(items).to_string(),
        };
        assert!(text.get(mention.span.clone()).is_some());
        said
    };
    scan(text, &how).into_iter().map(line).collect()
}

fn told(amount: &Amount) -> String {
    let number = amount.value.map_or("?".to_owned(), |value| value.to_string());
    let to = amount.to.map_or(String::new(), |to| format!("..{to}"));
    let units: Vec<String> = amount.units.iter().map(ToString::to_string).collect();
    let hash = if amount.has_hash { "#" } else { "" };
    format!("{hash}{number}{to} {}", units.join("|")).trim_end().to_owned()
}

#[test]
fn numbers_come_with_sign_unit_and_currency() {
    for (text, expected) in [
        ("limit 5", &["5"][..]),
        ("-18 degrees", &["-18 degrees"]),
        ("−12", &["-12"]),
        ("minus 5", &["-5"]),
        ("$19.99", &["19.99 dollars"]),
        ("-$5", &["-5 dollars"]),
        ("€ 20", &["currency EUR", "20 EUR"]),
        ("EUR 20", &["currency EUR", "20 EUR"]),
        ("1.250,50 EUR", &["1250.5 EUR", "currency EUR"]),
        ("1.250 EUR", &["? EUR", "currency EUR"]),
        ("20 %", &["20 %"]),
        ("21.5 °C", &["21.5 °C"]),
        ("70 degrees Fahrenheit", &["70 °F"]),
        ("10k", &["10000"]),
        ("2.5 million", &["2500000"]),
        ("5m", &["5 minutes|m"]),
        ("1h30m", &["90 minutes"]),
        ("1 hour and 15 minutes", &["75 minutes"]),
        ("two hours", &["2 hours"]),
        ("5-10 minutes", &["5..10 minutes"]),
        ("20–22", &["20..22"]),
        ("#17", &["#17"]),
        ("1, 2 and 3", &["1", "2", "3"]),
        ("32.0853, 34.7818", &["32.0853", "34.7818"]),
        ("1024x768", &["token 1024x768"]),
        ("v1.2.3", &["token v1.2.3"]),
        ("OPS-123", &["token OPS-123"]),
        ("192.168.1.1", &["token 192.168.1.1"]),
        ("10:30", &["time"]),
    ] {
        let found = read(text, false);
        let expected: Vec<&str> = expected.to_vec();
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn texts_addresses_and_names_end_where_they_end() {
    for (text, expected) in [
        ("say \"a \u{5d0} b\"", &["quoted a \u{5d0} b"][..]),
        (
            "“one” „two“ «three» ״ארבע״ ‘five’ `six`",
            &[
                "quoted one",
                "quoted two",
                "quoted three",
                "quoted ארבע",
                "quoted five",
                "quoted six",
            ],
        ),
        ("I'll don't won't", &[]),
        ("'it's here'", &["quoted it's here"]),
        ("a 5\" screen", &["5"]),
        ("(https://a.example/x_(y)?q=1).", &["url https://a.example/x_(y)?q=1"]),
        ("mail dana@example.org, now", &["email dana@example.org"]),
        ("read /tmp/a.txt.", &["path /tmp/a.txt"]),
        ("in rust-lang/cargo", &["path rust-lang/cargo"]),
        ("yes and/or no, e.g. this", &["token e.g"]),
        ("from Tel Aviv to New York on", &["place Tel Aviv", "place New York"]),
        ("in Rio de Janeiro's centre", &["place Rio de Janeiro"]),
        (
            "id 3f2504e0-4f89-41d3-9a0c-0305e82c3301?",
            &["token 3f2504e0-4f89-41d3-9a0c-0305e82c3301"],
        ),
        ("DE89370400440532013000", &["token DE89370400440532013000"]),
        ("to EUR", &["currency EUR"]),
        ("\"unclosed", &[]),
        ("\"\" ''", &[]),
    ] {
        assert_eq!(read(text, false), expected, "{text}");
    }
}

#[test]
fn the_rest_is_one_text_where_nothing_is_quoted() {
    let expected = ["token #ops", "rest disk at 91 %, see https://x.example"];
    assert_eq!(read("tell #ops: disk at 91 %, see https://x.example", true), expected);
    assert_eq!(read("write \"a\": b 5", true), ["quoted a", "rest b 5"]);
    assert_eq!(read("body: \"a\" and 5", true), ["quoted a", "5"]);
    assert_eq!(read("note saying I'll be late", true), ["rest I'll be late"]);
}

proptest::proptest! {
    #[test]
    fn any_text_is_scanned_without_a_fault(text in "\\PC{0,80}", has_rest: bool) {
        read(&text, has_rest);
    }

    #[test]
    fn any_mix_of_values_is_scanned_without_a_fault(
        parts in proptest::collection::vec(
            proptest::sample::select(vec![
                "5", "-", "–", "$", "€", "EUR", "m", "h", ".", ",", " ", "at ", "May", "2026", "3rd", "\"", "“", "”", "'",
                "/", "a.txt", "@", "x.org", "https://", "#", "½", "״", "א", "to ", "and ", "next ", "week", ":", "30", "pm",
                "UTC", "%", "°C", "next Friday", "in ", "\u{202f}",
            ]),
            0..14,
        ),
    ) {
        read(&parts.concat(), true);
    }
}
