//! Arguments from prompts in other languages.

use super::*;

fn reservation() -> Tool {
    let schema = object(
        json!({
            "reservation_id": {"type": "string", "description": "Reservation number, such as RS-1204"},
            "date": {"type": "string", "format": "date"},
            "time": {"type": "string", "description": "Arrival time, HH:MM"},
            "guests": {"type": "integer", "description": "Number of guests"},
            "wishes": {"type": "string", "description": "Wishes of the guest"}}),
        &[],
    );
    tool("change_reservation", "Change a reservation of a table", &schema)
}

#[test]
fn days_times_and_ids_are_read_in_every_language() {
    for prompt in [
        "Mueve la reserva RS-1240 al 15 de mayo de 2026 a las 19:30",
        "Verschieb die Reservierung RS-1240 auf den 15. Mai 2026 um 19:30 Uhr",
        "Déplace la réservation RS-1240 au 15 mai 2026 à 19h30",
        "Muda a reserva RS-1240 para 15 de maio de 2026 às 19h30",
        "Перенеси бронь RS-1240 на 15 мая 2026 года в 19:30",
        "תעביר את ההזמנה RS-1240 ל-15 במאי 2026 בשעה 19:30",
        "انقل الحجز RS-1240 إلى ١٥ مايو 2026 الساعة 19:30",
        "把预订RS-1240改到2026年5月15日19:30",
    ] {
        let prepared = prepare(&reservation(), prompt);
        let expected = json!({"reservation_id": "RS-1240", "date": "2026-05-15", "time": "19:30"});
        assert_eq!(json!(prepared.arguments), expected, "{prompt}: {prepared:?}");
        // The places are those of the prompt itself.
        for taken in &prepared.sources {
            let Source::Prompt { start, end, text } = &taken.source else { panic!("{taken:?}") };
            assert_eq!(&prompt[*start..*end], text, "{prompt}");
        }
    }
}

#[test]
fn texts_and_names_stay_in_the_words_of_the_prompt() {
    let schema = object(
        json!({"to": {"type": "string", "description": "The recipient"},
               "text": {"type": "string", "description": "The text of the message"}}),
        &["to", "text"],
    );
    let send = tool("send_message", "Send a message to somebody", &schema);
    for (prompt, to, text) in [
        ("Schreib an Ana: der Zug hat Verspätung", "Ana", "der Zug hat Verspätung"),
        ("envía un mensaje a Ana: \"llego mañana\"", "Ana", "llego mañana"),
        ("отправь сообщение Ольге: поезд опаздывает", "Ольге", "поезд опаздывает"),
        ("תשלח הודעה לדניאל: אני מאחר בעשר דקות", "דניאל", "אני מאחר בעשר דקות"),
    ] {
        let prepared = prepare(&send, prompt);
        assert_eq!(json!(prepared.arguments), json!({"to": to, "text": text}), "{prompt}");
    }
}

#[test]
fn listed_values_are_those_of_the_schema() {
    let schema = object(
        json!({"diet": {"enum": ["vegan", "halal"]}, "day": {"type": "string", "format": "date"}}),
        &["diet"],
    );
    let dishes = tool("find_dishes", "Dishes of a diet", &schema);
    for (prompt, expected) in [
        ("vegane Gerichte für morgen", json!({"diet": "vegan", "day": "2026-04-21"})),
        ("платья", json!({})),
    ] {
        assert_eq!(json!(prepare(&dishes, prompt).arguments), expected, "{prompt}");
    }
}

#[test]
fn a_name_in_a_script_without_capitals_is_one() {
    let text = || json!({"type": "string"});
    let schema = object(json!({"issue_id": text(), "assignee": text()}), &["issue_id", "assignee"]);
    let assign = tool("assign_issue", "Assign an issue to a person", &schema);
    for (prompt, name) in [
        ("תקצה את ISS-318 לדנה לוי", "דנה לוי"),
        ("把ISS-318分配给王磊", "王磊"),
        ("назначь ISS-318 на Ольгу Смирнову", "Ольгу Смирнову"),
    ] {
        let expected = json!({"issue_id": "ISS-318", "assignee": name});
        assert_eq!(given(&assign, prompt), expected, "{prompt}");
    }
}

#[test]
fn a_language_is_given_by_its_code() {
    let schema = object(
        json!({"text": {"type": "string"}, "source_language": {"type": "string", "description": "ISO 639-1 code"},
               "target_language": {"type": "string", "description": "ISO 639-1 code, e.g. fr"}}),
        &["text", "target_language"],
    );
    let translate = tool("translate", "Translate a text", &schema);
    for (prompt, text) in [
        ("translate \"where is it\" to Italian", "where is it"),
        ("traduce \"dónde está\" al italiano", "dónde está"),
        ("переведи «где вокзал» на итальянский", "где вокзал"),
        ("traduis « bonne nuit » en italien", "bonne nuit"),
    ] {
        let expected = json!({"text": text, "target_language": "it"});
        assert_eq!(given(&translate, prompt), expected, "{prompt}");
    }
    for prompt in ["translate it: \"ciao\"", "translate the German text \"hallo\""] {
        assert_eq!(asked(&translate, prompt), ["target_language"], "{prompt}");
    }
}

#[test]
fn a_word_that_no_lexicon_has_is_told_unless_it_is_a_value() {
    let schema = object(json!({"on": {"type": "boolean"}}), &["on"]);
    let saver = tool("battery_saver", "Turn the battery saver on or off", &schema);
    assert_eq!(prepare(&saver, "תכבה את הבלומפיי").unread.as_deref(), Some("הבלומפיי"));
    assert_eq!(prepare(&saver, "תכבה את הטלפון").unread, None);
    assert_eq!(prepare(&saver, "turn off the blomfy").unread, None, "English");
}

#[test]
fn a_query_stays_in_the_words_of_the_prompt_without_the_order() {
    let schema = object(
        json!({"query": {"type": "string"}, "limit": {"type": "integer", "description": "Most results"}}),
        &["query"],
    );
    let search = tool("search", "Search for academic papers by topic", &schema);
    for (prompt, query) in [
        ("חפש מאמרים על דינוזאורים", "מאמרים על דינוזאורים"),
        ("חפש את ישראל ישראלי", "ישראל ישראלי"),
        ("Suche nach Artikeln über Dinosaurier", "Artikeln über Dinosaurier"),
        ("Such mir bitte \"dune\" und Sand", "\"dune\" und Sand"),
        ("busca artículos sobre dinosaurios", "artículos sobre dinosaurios"),
        ("cherche des articles sur les dinosaures", "articles sur les dinosaures"),
        ("搜索关于恐龙的文章", "关于恐龙的文章"),
        ("Wie alt werden Katzen?", "Wie alt werden Katzen?"),
    ] {
        let prepared = prepare(&search, prompt);
        assert_eq!(prepared.arguments["query"], query, "{prompt}");
        let Source::Prompt { text, .. } = &prepared.sources[0].source else { panic!("{prompt}") };
        assert_eq!(text, query.trim_end_matches('?'), "{prompt}");
    }
    // A value of another parameter is no part of the query.
    let prompt = "busca artículos limit 5 sobre dinosaurios";
    let expected = json!({"query": "artículos sobre dinosaurios", "limit": 5});
    assert_eq!(given(&search, prompt), expected);
}
