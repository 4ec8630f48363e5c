//! `toolroute route` on the sample catalog and on captured servers.

use crate::support::{CommandExt as _, Sandbox, ids, repo, samples};

#[test]
fn a_prompt_finds_its_tool_and_says_why() {
    let sandbox = Sandbox::new();
    let answer =
        sandbox.json(&["route", "--tools", &samples(), "do I need an umbrella in Haifa tomorrow"]);
    assert_eq!(answer["strategy"], "hybrid");
    assert_eq!(ids(&answer)[0], "meteo__weather_forecast");
    let first = &answer["tools"][0];
    let parts = first["explanation"]["parts"].as_array().unwrap();
    let sum: f64 = parts.iter().map(|part| part["contribution"].as_f64().unwrap()).sum();
    assert!((sum - first["score"].as_f64().unwrap()).abs() < 1e-6, "{first}");
    assert_eq!(first["explanation"]["tiers"]["reliability"], "high");
    let table = sandbox.run(&["route", "--tools", &samples(), "will it rain tomorrow"]).stdout;
    let table = String::from_utf8(table).unwrap();
    for word in ["meteo__weather_forecast", "semantic", "keyword", "tiers", "why"] {
        assert!(table.contains(word), "{word} is missing from\n{table}");
    }
}

#[test]
fn the_same_question_gives_the_same_bytes() {
    let sandbox = Sandbox::new();
    let ask = |strategy| {
        let tools = samples();
        let args = ["route", "--tools", &tools, "--json", "--strategy", strategy, "book a table"];
        sandbox.run(&args).stdout
    };
    for strategy in ["keyword", "semantic", "hybrid"] {
        assert_eq!(ask(strategy), ask(strategy), "{strategy}");
    }
}

#[test]
fn a_policy_is_kept_and_says_what_it_took_out() {
    let sandbox = Sandbox::new();
    let tools = samples();
    let args = ["route", "--tools", &tools, "search the web for news", "--limit", "15"];
    let filters = ["--max-cost", "low", "--min-reliability", "high", "--max-latency", "fast"];
    let answer = sandbox.json(&[&args[..], &filters[..]].concat());
    assert_eq!(ids(&answer).len(), 15);
    for tool in answer["tools"].as_array().unwrap() {
        let tiers = &tool["explanation"]["tiers"];
        assert_eq!(tiers["reliability"], "high", "{tool}");
        assert!(["tiny", "low"].contains(&tiers["cost"].as_str().unwrap()), "{tool}");
        assert_eq!(tiers["latency"], "fast", "{tool}");
    }
    let excluded = answer["excluded"].as_array().unwrap();
    assert!(!excluded.is_empty());
    for tool in excluded {
        let because = tool["because"].as_str().unwrap();
        assert!(because.contains(" is above ") || because.contains(" is below "), "{because}");
    }
}

#[test]
fn a_tool_that_is_left_out_and_fits_far_better_is_named() {
    let sandbox = Sandbox::new();
    let args = ["route", "--tools", &samples(), "--enable", "chat__*", "send mail"];
    let shown = String::from_utf8(sandbox.run(&args).stdout).unwrap();
    let said = "a tool that is left out fits far better, mail__send_email: it is not among";
    assert!(shown.contains(said), "{shown}");
}

#[test]
fn a_name_in_the_prompt_is_found_by_every_strategy_that_reads_words() {
    let sandbox = Sandbox::new();
    let tools = samples();
    for strategy in ["keyword", "hybrid"] {
        for prompt in ["EvalMath", "please call `evalmath` on my shopping list of weather"] {
            let answer = sandbox.json(&["route", "--tools", &tools, "-s", strategy, prompt]);
            assert_eq!(ids(&answer)[0], "EvalMath", "{strategy}: {prompt}");
            assert_eq!(answer["tools"][0]["explanation"]["exact_name"], true);
        }
    }
}

#[test]
fn candidates_are_ranked_alone() {
    let sandbox = Sandbox::new();
    let tools = samples();
    let args = ["route", "--tools", &tools, "what is 2+2"];
    let candidates = ["meteo:current_weather", "EvalMath", "no__such_tool"];
    let candidates = candidates.map(|id| ["--candidates", id]).concat();
    let answer = sandbox.json(&[&args[..], &candidates].concat());
    assert_eq!(ids(&answer), ["EvalMath", "meteo__current_weather"]);
    assert_eq!(answer["unknown_candidates"][0], "no__such_tool");
    let unknown = ["route", "--tools", &tools, "what is 2+2", "--candidates", "EvalMaths"];
    assert!(sandbox.fails(3, &unknown).contains("did you mean EvalMath"));
}

#[test]
fn without_a_model_auto_ranks_by_words_and_says_which_command_gets_it() {
    let sandbox = Sandbox::new();
    let tools = samples();
    let store = &sandbox.arg("empty");
    let model = ["--models", store, "--model", "all-MiniLM-L6-v2"];
    let args = [&["route", "--tools", &tools], &model[..], &["current weather"]].concat();
    sandbox
        .toolroute()
        .args(&args)
        .args(["--json"])
        .assert()
        .success()
        .stdout_contains("\"strategy\": \"keyword\"")
        .stdout_contains("\"degraded\": \"no_model\"")
        .stderr_contains("toolroute model pull all-MiniLM-L6-v2");
    let asked = [&args[..], &["--strategy", "hybrid"]].concat();
    assert!(sandbox.fails(4, &asked).contains("toolroute model pull all-MiniLM-L6-v2"));
    let index = [&["index", "--tools", &tools], &model[..]].concat();
    assert!(sandbox.fails(4, &index).contains("pull"));
}

#[test]
fn a_prompt_may_come_from_stdin_and_must_not_be_empty() {
    let sandbox = Sandbox::new();
    let tools = samples();
    let args = ["route", "--tools", &tools, "--json", "-s", "keyword"];
    let from_stdin = |text: &str| sandbox.toolroute().args(args).write_stdin(text).assert();
    from_stdin("send an email\n").success().stdout_contains("send an email");
    for empty in [" \n", "?", "...", "!!", "👍"] {
        from_stdin(empty).code(3).stderr_contains("has no letter and no digit");
    }
    // Nobody gave a prompt.
    from_stdin("").code(2).stderr_contains("no prompt is given");
}

#[test]
fn bad_arguments_and_files_have_codes_of_their_own() {
    let sandbox = Sandbox::new();
    let tools = samples();
    assert!(
        sandbox.fails(2, &["route", "--tools", &tools, "x", "--max-cost", "huge"]).contains("tiny")
    );
    assert!(
        sandbox
            .fails(2, &["route", "--tools", &tools, "x", "--semantic-weight", "1.5"])
            .contains("0 to 1")
    );
    assert!(sandbox.fails(2, &["route", "x"]).contains("--tools"));
    assert!(
        sandbox.fails(5, &["route", "--tools", "/no/such/file", "x"]).contains("/no/such/file")
    );
    let garbage = sandbox.put("garbage.json", "{\"hello\": ");
    let said = sandbox.fails(3, &["route", "--tools", &garbage, "x"]);
    assert!(said.contains("garbage.json") && said.contains("expected"), "{said}");
}

#[test]
fn captured_servers_are_routed_with_an_overlay() {
    let sandbox = Sandbox::new();
    let captured = repo("tests/data/captured");
    let overlay = repo("examples/overlay.toml");
    let args =
        ["route", "--tools", captured.to_str().unwrap(), "--overlay", overlay.to_str().unwrap()];
    let answer = sandbox.json(&[&args[..], &["what does notes.txt say?"]].concat());
    // The server has this tool twice, once under its old name.
    let readers = ["filesystem__read_file", "filesystem__read_text_file"];
    assert!(
        readers.iter().all(|reader| ids(&answer)[..3].iter().any(|id| id == reader)),
        "{answer}"
    );
    assert!(!answer["tools"][0]["explanation"]["tiers"]["reliability"].is_null());
}

#[test]
fn hebrew_and_chinese_prompts_match_words_in_their_scripts() {
    let sandbox = Sandbox::new();
    let tools = sandbox.put(
        "tools.jsonl",
        "{\"name\": \"a\", \"description\": \"שליחת הודעת דואר אלקטרוני\"}\n\
         {\"name\": \"b\", \"description\": \"查询城市的天气预报\"}\n\
         {\"name\": \"c\", \"description\": \"Reads a file\"}\n",
    );
    for (prompt, wanted) in [("לשלוח דואר אלקטרוני", "a"), ("明天天气怎么样", "b")]
    {
        let args = ["route", "--tools", &tools, "-s", "keyword", prompt];
        assert_eq!(ids(&sandbox.json(&args)), [wanted], "{prompt}");
    }
}

#[test]
fn a_catalog_without_tools_is_not_taken_for_none_of_these() {
    let sandbox = Sandbox::new();
    let file = sandbox.put("none.json", "[]");
    let said = sandbox.fails(3, &["route", "weather", "--tools", &file]);
    assert!(said.contains("no usable tool") && said.contains("none.json"), "{said}");
}

#[test]
fn what_a_prompt_says_not_to_do_is_left_out_of_it() {
    let sandbox = Sandbox::new();
    let tools = r#"[{"name": "cancel_order", "description": "Cancels an order."},
        {"name": "hold_order", "description": "Pauses an order until it is resumed."}]"#;
    let file = sandbox.put("orders.json", tools);
    let prompt = "don't cancel order 5512, just pause it";
    let answer = sandbox.json(&["route", "--tools", &file, prompt]);
    assert_eq!(ids(&answer)[0], "hold_order", "{answer}");
    assert_eq!(answer["read_as"], "order 5512, just pause it");
    for prompt in ["order 5512 must not be cancelled", "nobody should cancel order 5512"] {
        let answer = sandbox.json(&["route", "--tools", &file, prompt]);
        assert_ne!(answer["fit"], "fits", "{answer}");
    }
    let named = sandbox.json(&["route", "--tools", &file, "call holdOrder now"]);
    assert_eq!(ids(&named)[0], "hold_order");
    assert_eq!(named["confidence"], 1.0, "{named}");
}

#[test]
fn what_is_pasted_around_an_order_is_left_out_of_it_and_said() {
    let sandbox = Sandbox::new();
    let tools = r#"[{"name": "send_email", "description": "Sends an email to a person."},
        {"name": "set_light", "description": "Turns the lights of a room on or off."}]"#;
    let file = &sandbox.put("home.json", tools);
    let prompt = "From: Tom\nSubject: email\n\nHello Dana,\n\ncould you send me an email to my new \
        address? The email that you sent did not arrive.\n\nRegards,\nTom\n\nkitchen lights off";
    let answer = sandbox.json(&["route", "--tools", file, prompt]);
    assert_eq!(ids(&answer)[0], "set_light", "{answer}");
    assert_eq!(answer["read_as"], "kitchen lights off");
    assert_eq!(answer["left_out"][0]["kind"], "mail", "{answer}");
    let said = sandbox.run(&["route", "--explain", "--tools", file, prompt]).stdout;
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("left out: mail (26 words)"), "{said}");
    let plain = sandbox.json(&["route", "--blend", "plain", "--tools", file, prompt]);
    assert!(plain["read_as"].is_null() && plain["left_out"].is_null(), "{plain}");
    let short = sandbox.json(&["route", "--tools", file, "kitchen lights off"]);
    assert!(short["left_out"].is_null(), "{short}");
    let long = format!("kitchen lights off\n\n{}", "lorem ipsum ".repeat(50_000));
    let mut command = sandbox.toolroute();
    let done = command.args(["route", "--json", "--tools", file, "-"]).write_stdin(long).assert();
    let long: serde_json::Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    assert_eq!(ids(&long)[0], "set_light", "{long}");
    let middle = long["left_out"].as_array().unwrap().last().unwrap();
    assert!(middle["kind"] == "middle" && middle["words"].as_u64() > Some(70_000), "{middle}");
}

#[test]
fn slips_of_the_fingers_are_mended_and_content_is_not() {
    let sandbox = Sandbox::new();
    let tools = r#"[{"name": "delete_branch", "description": "Deletes a branch of a repository."},
        {"name": "list_tags", "description": "Lists the tags of a repository."}]"#;
    let file = sandbox.put("git.json", tools);
    let ask = |strategy: &str, prompt: &str| {
        sandbox.json(&["route", "-s", strategy, "--tools", &file, prompt])
    };
    for strategy in ["hybrid", "semantic"] {
        let answer = ask(strategy, "Delte the brnach of Kowalsky");
        assert_eq!(answer["read_as"], "Delete the branch of Kowalsky", "{answer}");
        assert_eq!(ids(&answer)[0], "delete_branch");
    }
    let both = ask("hybrid", "don't delte the brnach, list the tags of it");
    assert_eq!(both["read_as"], "the branch, list the tags of it");
    for prompt in ["delete the branch \"brnach\"", "delete the branch of kowalsky"] {
        let answer = ask("hybrid", prompt);
        assert!(answer["read_as"].is_null(), "{answer}");
    }
}

#[test]
fn a_prompt_in_another_language_is_read_in_english() {
    let sandbox = Sandbox::new();
    let tools = samples();
    for (prompt, first) in [
        ("מה תחזית מזג האוויר ללונדון לשבוע הקרוב?", "meteo__weather_forecast"),
        ("welche Commits hat Dana letzte Woche gemacht?", "git__log"),
        ("genera una imagen de un zorro rojo", "studio__generate_image"),
        ("翻译这句话", "translate__translate_text"),
    ] {
        let answer = sandbox.json(&["route", "--tools", &tools, prompt]);
        assert!(answer["read_as"].is_string() && answer["degraded"].is_null(), "{answer}");
        assert_eq!(ids(&answer)[0], first, "{answer}");
    }
    let said = sandbox.run(&["route", "--tools", &tools, "סכם את הקובץ הזה"]).stdout;
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("read as: summarize file"), "{said}");
}

#[test]
fn a_language_that_the_model_does_not_read_is_said_to_be_the_reason() {
    let sandbox = Sandbox::new();
    let tools = samples();
    for (prompt, unread) in [
        ("昨日の古いものを全部消して", true),
        ("어제 파일을 모두 지워 줘", true),
        ("why do cats purr", false),
    ] {
        let answer = sandbox.json(&["route", "--tools", &tools, prompt]);
        assert_eq!(answer["abstained"], true, "{answer}");
        assert_eq!(answer["degraded"] == "unread_language", unread, "{answer}");
        let said = sandbox.run(&["route", "--tools", &tools, prompt]).stdout;
        assert_eq!(String::from_utf8(said).unwrap().contains("ask in English"), unread, "{prompt}");
    }
}

#[test]
fn a_language_in_latin_letters_that_is_not_read_is_said_beside_the_tools() {
    let sandbox = Sandbox::new();
    let tools = samples();
    for (prompt, unread) in [
        ("Perché i gatti fanno le fusa?", true),
        ("Chi lavora sabato?", true),
        ("hoe is het weer morgen in Utrecht", true),
        ("pokaż jutrzejszą pogodę w Krakowie", true),
        ("welche Commits hat Dana letzte Woche gemacht?", false),
        ("weather in Łódź", false),
        ("play despacito", false),
    ] {
        let answer = sandbox.json(&["route", "--tools", &tools, "--min-confidence", "0", prompt]);
        assert_eq!(answer["degraded"] == "unread_language", unread, "{answer}");
        // Spanish and German are near enough to read nonsense out of Italian and Dutch.
        assert!(!unread || answer["read_as"].is_null(), "{answer}");
    }
}

#[test]
fn a_word_of_the_tools_is_english_although_another_language_has_it_too() {
    let sandbox = Sandbox::new();
    let tool =
        |name: &str, about: &str| format!("{{\"name\": \"{name}\", \"description\": \"{about}\"}}");
    let tools = |some: &[String]| format!("[{}]", some.join(","));
    let english = [
        tool("show_rota", "Shows the rota of the week"),
        tool("write_brief", "Writes a brief for a designer"),
        tool("set_price", "Sets the price of a subscription tier"),
        tool("book_van", "Books a delivery van"),
    ];
    let portuguese = [
        tool("mostra_rota", "Mostra a rota da entrega no mapa"),
        tool("cancela_pedido", "Cancela um pedido do cliente"),
    ];
    let english = sandbox.write("en.json", tools(&english)).to_string_lossy().into_owned();
    let portuguese = sandbox.write("pt.json", tools(&portuguese)).to_string_lossy().into_owned();
    let ask = |tools: &str, prompt: &str, more: &[&str]| {
        sandbox
            .json(&[&["route", "--tools", tools, "--min-confidence", "0", prompt], more].concat())
    };
    for (prompt, first) in [("rota", "show_rota"), ("Brief", "write_brief"), ("tier", "set_price")]
    {
        for more in [&[][..], &["--strategy", "keyword"]] {
            let answer = ask(&english, prompt, more);
            assert!(answer["read_as"].is_null() && answer["degraded"].is_null(), "{answer}");
            assert_eq!(ids(&answer)[0], first, "{answer}");
        }
    }
    // Another word of the language tells it all the same, and Portuguese tools have no English words.
    assert_eq!(ask(&english, "mostra a rota", &[])["read_as"], "show route");
    assert_eq!(ask(&portuguese, "rota", &[])["read_as"], "route");
}

#[test]
fn any_limit_is_answered() {
    let sandbox = Sandbox::new();
    let tools = samples();
    let most = usize::MAX.to_string();
    let filter = ["--min-reliability", "low", "--undeclared", "admit"];
    for filter in [&[][..], &filter] {
        let args = ["route", "-s", "keyword", "--tools", &tools, "weather", "--limit", &most];
        assert!(!ids(&sandbox.json(&[&args[..], filter].concat())).is_empty());
    }
    let none = sandbox.run(&["route", "-s", "keyword", "--tools", &tools, "weather", "-l", "0"]);
    let said = String::from_utf8(none.stdout).unwrap();
    assert!(said.contains("--limit is 0") && !said.contains("no tool fits"), "{said}");
}

#[test]
fn names_with_commas_are_names_and_variables_stand_in_for_flags() {
    let sandbox = Sandbox::new();
    let row =
        |id: &str| format!("{{\"id\": \"{id}\", \"name\": \"n\", \"description\": \"mail\"}}");
    let (one, two) = (sandbox.write("a,b.jsonl", row("x,y")), sandbox.write("c.jsonl", row("z")));
    let args = ["route", "-s", "keyword", "mail", "--json"];
    let typed = ["--tools", one.to_str().unwrap(), "--candidates", "x,y"];
    assert_eq!(ids(&sandbox.json(&[&args[..4], &typed].concat())), ["x,y"]);
    let joined = std::env::join_paths([&one, &two]).unwrap();
    let empty = [("TOOLROUTE_INDEX", ""), ("TOOLROUTE_MODEL", ""), ("TOOLROUTE_LOG", "")];
    let run = |tools: &std::ffi::OsStr| {
        sandbox.toolroute().args(args).envs(empty).env("TOOLROUTE_TOOLS", tools).assert()
    };
    let output = run(&joined).success().get_output().stdout.clone();
    assert_eq!(ids(&serde_json::from_slice(&output).unwrap()), ["x,y", "z"]);
    run("".as_ref()).code(2);
}

#[test]
fn an_unknown_candidate_is_told_in_a_line() {
    let sandbox = Sandbox::new();
    let (tools, long) = (samples(), "q".repeat(10_000));
    let args = ["route", "-s", "keyword", "--tools", &tools, "weather", "--candidates", &long];
    assert!(sandbox.fails(3, &args).len() < 300);
    let output = sandbox.run(&[&args[..], &["--candidates", "EvalMath"]].concat());
    assert!(output.stderr.len() < 300);
}

#[test]
fn on_80_columns_each_tool_has_one_line() {
    let sandbox = Sandbox::new();
    let tools = samples();
    let prompt = "the new version is broken in production, go back to the one before";
    let typed = ["route", "-s", "keyword", "--limit", "8", "--tools", &tools, prompt];
    let shown = |columns: Option<&str>, more: &[&str]| {
        let mut command = sandbox.toolroute();
        columns.map(|columns| command.env("COLUMNS", columns));
        let done = command.args(typed).args(more).assert().success();
        String::from_utf8(done.get_output().stdout.clone()).unwrap()
    };
    let answer: serde_json::Value = serde_json::from_str(&shown(None, &["--json"])).unwrap();
    let whys: Vec<&str> = answer["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["explanation"]["why"].as_str().unwrap())
        .collect();
    let narrow = shown(Some("80"), &[]);
    // A line a tool, the header and three rules.
    assert_eq!(narrow.lines().count(), whys.len() + 4, "{narrow}");
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    for (tool, line) in ids(&answer).into_iter().zip(narrow.lines().skip(3)) {
        assert!(line.trim_start().starts_with(tool), "{tool} is not whole in {line}");
    }
    assert!(narrow.contains('…'), "{narrow}");
    // What is left out on one tool's behalf has a line as well.
    let strict = ["--max-cost", "tiny", "--undeclared", "exclude"];
    let strict = shown(Some("80"), &strict);
    assert!(strict.lines().all(|line| line.chars().count() <= 80), "{strict}");
    // On a wide screen, and where there is none, nothing is cut.
    for wide in [shown(Some("400"), &[]), shown(None, &[])] {
        assert_eq!(wide.lines().count(), whys.len() + 4, "{wide}");
        assert!(whys.iter().all(|why| wide.contains(why)), "{wide}");
    }
}
