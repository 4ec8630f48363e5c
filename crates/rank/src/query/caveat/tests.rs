use super::*;

fn caveat(prompt: &str) -> Option<String> {
    super::caveat(prompt, Places::default())
}

#[test]
fn plain_orders_are_told_from_what_is_forbidden_conditional_or_put_off() {
    for order in [
        "send an email to dana@example.org with subject \"If only\"",
        "Set the thermostat to 20 °C",
        "book the room with a projector, ok",
        "book the room with a projector, ok?",
        "book the room with a projector, okay, thanks",
        "send an email to Dana",
        "send an email that says \"do not come\"",
        "please book a room in Paris for 4 people on 5 May",
        "can you delete /tmp/a.txt",
        "stop the mixer at once",
        "stop the mixer if possible",
        "stop the mixer as soon as possible",
        "play the song once more",
        "cancel order no 12",
        "create an issue: the login does not work",
        "delete tomorrow's meeting",
        "send the morning report to dana@example.org",
        "cancel order 12 because nobody wants it",
        "I can't hear you, stop the mixer",
        "stop the mixer, if you don't mind",
        "cancel order 12 as soon as you can",
        "don't forget to stop the mixer",
        "stop the mixer once and for all",
        "stop the mixer, never mind the dough",
        "make it 3 buns instead of 1",
        "write 'do not touch' on the door",
        "Cancel order no. 12",
    ] {
        assert_eq!(caveat(order), None, "{order}");
    }
    assert_eq!(caveat("do not send an email to Dana").as_deref(), Some("do not"));
    assert_eq!(caveat("If it rains, send an email").as_deref(), Some("if"));
    for other in [
        "Never turn the thermostat to 25 degrees",
        "you must never cancel order 12",
        "make sure that the mixer is never stopped",
        "I want it never stopped",
        "order 12 is never to be cancelled",
        "never proceed with order 12",
        "Clean up, but do not delete /tmp/keep.txt",
        "delete all files but keep /tmp/keep.txt",
        "delete everything in /tmp except /tmp/keep.txt",
        "Once the build is green, set 20 °C",
        "set 20 °C unless the window is open",
        "in one hour set the thermostat to 20 °C",
        "Set the thermostat to 20 °C after you read /tmp/a.txt",
    ] {
        assert!(caveat(other).is_some(), "{other}");
    }
    assert_eq!(caveat("Kopiere nicht die Datei").as_deref(), Some("nicht"));
    assert_eq!(caveat("אל תמחק את הקובץ").as_deref(), Some("אל"));
    assert_eq!(caveat("Kopiere die Datei"), None);
}

#[test]
fn what_is_only_told_beside_an_order_forbids_and_postpones_nothing() {
    for order in [
        "close T-1, it went live this morning",
        "give T-1 to Tom, Ann is on leave until Monday",
        "refund order 12, the parcel never arrived",
        "we don't need the backup any more, please delete it",
        "shut down the server, nobody is using it",
        "a coupon that can only be used once",
    ] {
        assert_eq!(caveat(order), None, "{order}");
    }
    for other in [
        "close T-1, Ann will be back this morning",
        "close T-1 this morning",
        "close T-1, but Ann never wants it closed",
        "you shouldn't close T-1",
        "leave T-1 open until noon",
    ] {
        assert!(caveat(other).is_some(), "{other}");
    }
    let prompt = "close it, the plumber was there on Tuesday";
    assert!(is_reported(prompt, &(35..42)) && !is_reported("close it on Tuesday", &(12..19)));
    let prompt = "cancel session S-140, the speaker is stuck in Oslo";
    assert!(is_told_beside(prompt, &(46..50)) && !is_told_beside("move it to Oslo", &(11..15)));
}

#[test]
fn a_condition_or_a_later_time_counts_wherever_it_is() {
    for (prompt, word) in [
        ("stop the mixer if it is too warm", "if"),
        ("stop the mixer only if it is warm", "if"),
        ("cancel order 12 once it is baked", "once"),
        ("cancel order 12 in case it is not baked yet", "in case"),
        ("cancel order 12, provided that it is not baked", "provided"),
        ("stop the mixer should the dough get too warm", "should"),
        ("stop the mixer the moment it is warm", "the moment"),
        ("stop the mixer or start it", "or"),
        ("stop the mixer in a bit", "in a bit"),
        ("wait for Dana, then stop the mixer", "wait"),
        ("lock the door every night", "night"),
        ("maybe stop the mixer", "maybe"),
        ("stop the mixer when the dough is warm", "when"),
        ("stop the mixer after the dough rests", "after"),
        ("stop the mixer before Dana comes", "before"),
        ("stop the mixer as soon as it is warm", "as soon as"),
        ("check the oven, and if it is hot stop the mixer", "if"),
        ("check if the oven is hot and stop the mixer", "if"),
        ("check whether the oven is hot and stop the mixer", "whether"),
        ("start the mixer in an hour", "in an hour"),
        ("start the mixer only on Sundays", "only on"),
        ("start the mixer in a couple of minutes", "in a couple of minutes"),
        ("stop the mixer later", "later"),
        ("stop the mixer this evening", "evening"),
        ("stop the mixer within the hour", "within the hour"),
        ("send Dana \"hi\" tomorrow", "tomorrow"),
    ] {
        assert_eq!(caveat(prompt).as_deref(), Some(word), "{prompt}");
    }
    for (prompt, words) in [
        ("only cancel order 12 with Dana's consent", "with dana's consent"),
        ("cancel order 12 after approval by Dana", "after approval"),
        ("with the permission of Dana cancel order 12", "with the permission"),
    ] {
        assert_eq!(condition(prompt).as_deref(), Some(words), "{prompt}");
        assert_eq!(caveat(prompt).as_deref(), Some(words), "{prompt}");
    }
    assert_eq!(caveat("create a ticket with consent forms attached"), None);
    for (prompt, words) in [
        ("refund it tomorrow", Some("tomorrow")),
        ("refund it, only on Friday", Some("only on")),
        ("refund it in an hour", Some("in an hour")),
        ("cancel tomorrow's meeting", None),
        ("refund only order 12", None),
    ] {
        assert_eq!(postponement(prompt).as_deref(), words, "{prompt}");
    }
    assert_eq!(condition("stop it when it is warm").as_deref(), Some("when"));
    assert_eq!(condition("check whether it is warm").as_deref(), Some("whether"));
    assert_eq!(condition("do not stop it tomorrow"), None);
}

#[test]
fn what_arguments_took_is_no_part_of_the_order_and_a_time_that_none_took_puts_it_off() {
    let (prompt, at) = ("start the mixer before 5 May, note: if only", 23..28);
    let note = 30..44;
    let taken = [at.clone(), note];
    let all = Places { taken: &taken, moments: &[] };
    assert_eq!(super::caveat(prompt, all), None);
    let moments = [at];
    let moment = Places { taken: &taken[1..], moments: &moments };
    assert_eq!(super::caveat(prompt, moment).as_deref(), Some("5 May"));
}

#[test]
fn prohibitions_have_many_forms() {
    for prompt in [
        "the mixer must not be stopped",
        "the mixer mustn’t be stopped",
        "you shouldn't stop the mixer",
        "nobody should stop the mixer",
        "no one may stop the mixer",
        "avoid stopping the mixer",
        "no need to stop the mixer",
        "rather not stop the mixer",
        "stop the mixer? not yet",
        "stop the mixer? no",
        "under no circumstances cancel order 12",
        "the mixer is not to be stopped",
        "start the mixer instead of stopping it",
        "not the mixer",
    ] {
        assert!(caveat(prompt).is_some(), "{prompt}");
    }
}

#[test]
fn long_prompts_take_little_time() {
    let started = std::time::Instant::now();
    for part in ["it never stopped ", "check if ", "list it before ", "with "] {
        let prompt = part.repeat(32_768 / part.len());
        caveat(&prompt);
        super::postponement(&prompt);
    }
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

proptest::proptest! {
    #[test]
    fn no_text_and_no_places_make_it_panic(
        text in "(in |no |not |if |before |after |a |hour |¤|§|\"|\\PC){0,12}",
        from in 0usize..40,
        to in 0usize..40,
    ) {
        let borders = |at: &usize| text.is_char_boundary(*at);
        if let (Some(from), Some(to)) = (Some(from).filter(borders), Some(to).filter(borders)) {
            let place = from..to.max(from);
            let places = std::slice::from_ref(&place);
            super::caveat(&text, Places { taken: places, moments: &[] });
            super::caveat(&text, Places { taken: &[], moments: places });
        }
    }
}

#[test]
fn who_only_looks_orders_no_change() {
    for (prompt, looks) in [
        ("show me the missed calls", true),
        ("what's the weather in Lisbon for the next 5 days", true),
        ("is the garage open?", true),
        ("traffic on the A7", true),
        ("check the fuel report", true),
        ("open the garage", false),
        ("can you open the garage?", false),
        ("what's the weather, and open the garage", false),
        ("the garage is open", false),
        ("reboot it", false),
        ("please", false),
    ] {
        assert_eq!(only_looks(prompt), looks, "{prompt}");
    }
}
