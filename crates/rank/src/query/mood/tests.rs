use super::*;

fn reason(prompt: &str) -> Option<&'static str> {
    no_order(prompt, Places::default(), Doer { does: &|_| false, passes_on: false })
}

#[test]
fn an_order_is_known_by_its_form() {
    for prompt in [
        "stop the mixer",
        "please stop the mixer now",
        "could you stop the mixer for me?",
        "would you mind stopping the mixer?",
        "I'd like you to stop the mixer",
        "I need order 12 cancelled",
        "I want it gone",
        "I was wondering if you could stop the mixer",
        "don't forget to stop the mixer",
        "go ahead and cancel order 12",
        "permanently delete the file",
        "order 20 kg of flour",
        "extend booking B-1 until eight",
        "release booking B-1",
        "retire oven 4 since it was sold",
        "lights off",
        "throw away 4 buns",
        "deliver order 12 on 5 May",
        "the mixer is too loud, stop it",
        "stop the mixer, I can't hear you",
        "the mixer needs to be stopped",
        "you can stop the mixer now, thanks",
        "order 12 can be cancelled",
        "my new address is a@b.org",
        "stop the mixer that is too loud",
        "I know it is late but stop the mixer",
        "nudge Dana, she hasn't paid",
        "new card 'Dana has called' in To Do",
        "note under WEB-31 that QA has signed it off",
        "new blank file called Drone",
        "do number 3",
        "do it",
        "start recording",
        "have the report sent to Dana",
        "tell me a joke",
        "let the mixer run for 5 minutes",
        "Dr. Weber is ill, cancel order 12",
        "Lösche die Datei, die alt ist",
    ] {
        assert_eq!(reason(prompt), None, "{prompt}");
    }
}

#[test]
fn questions_and_statements_order_nothing() {
    for prompt in [
        "how do I set the thermostat to 25 °C?",
        "why did you email a@b.org?",
        "should the dough be warm, stop the mixer",
        "can I cancel order 12?",
        "could order 12 be cancelled?",
        "am I allowed to cancel order 12",
        "have you stopped the mixer",
        "tell me how to cancel order 12",
        "stop the mixer?",
        "do you know how to stop the mixer",
        "I'd like to see whether you stop the mixer",
    ] {
        assert_eq!(reason(prompt), Some("the prompt asks a question"), "{prompt}");
    }
    for prompt in [
        "Dana cancelled order 12 yesterday",
        "Dana says she paid invoice 4711",
        "my boss wants me to cancel order 12",
        "order 12 has been cancelled",
        "the mixer has been stopped",
        "cancelling order 12 is not allowed",
        "you can't cancel order 12",
        "I will stop the mixer myself",
        "I might cancel order 12",
        "I'm thinking about cancelling order 12",
        "I want to know how to stop the mixer",
        "somebody needs to stop the mixer",
        "Dana should stop the mixer",
        "the mixer should have been stopped",
        "the mixer needs more flour",
        "nobody says that the mixer needs to be stopped",
        "I forbid you to stop the mixer",
        "the mixer has been stopped, again",
        "consider cancelling order 12",
        "Dana suggests cancelling order 12",
        "you can see that order 12 is cancelled",
    ] {
        let told = Some("the prompt tells something and orders nothing");
        assert_eq!(reason(prompt), told, "{prompt}");
    }
}

#[test]
fn openers_may_be_many() {
    let text = format!("{}stop the mixer", "please ".repeat(200_000));
    assert_eq!(without_opener(&text), "stop the mixer");
}

#[test]
fn long_prompts_take_little_time() {
    let started = std::time::Instant::now();
    for part in ["could you ", "help me ", "a pipe, "] {
        let prompt = part.repeat(32_768 / part.len());
        reason(&prompt);
        orders(&prompt);
    }
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn an_order_may_be_for_somebody_else() {
    let others = Some("the prompt wants somebody else to do it");
    for prompt in [
        "ask Dana to stop the mixer",
        "please tell the baker to cancel order 12",
        "let Dana stop the mixer",
        "I want Dana to pay invoice 4711",
        "could you get Dana to pay invoice 4711",
        "remind me to pay invoice 4711",
        "remind me  §  to pay invoice 4711",
    ] {
        assert_eq!(reason(prompt), others, "{prompt}");
    }
    for (does, reason) in [("remind", None), ("pay", others)] {
        let tool = Doer { does: &|verb| verb == does, passes_on: true };
        assert_eq!(no_order("remind me to pay it", Places::default(), tool), reason);
    }
    assert_eq!(reason("I want it to stop"), None);
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(please |I |could you |ask |to |stop |is |'|\\?|, |\\PC){0,12}") {
        reason(&text);
    }
}
