use super::lexicon::Lexicon;
use super::*;

#[test]
fn prompts_are_read_word_by_word() {
    for (text, language, english) in [
        ("borra el archivo notas.txt", Language::Spanish, "delete file notas.txt"),
        ("lösche die Datei notizen.txt", Language::German, "delete file notizen.txt"),
        ("supprime le fichier notes.txt", Language::French, "delete file notes.txt"),
        ("apague o arquivo notas.txt", Language::Portuguese, "delete file notas.txt"),
        ("удали файл notes.txt", Language::Russian, "delete file notes.txt"),
        ("احذف الملف notes.txt", Language::Arabic, "delete file notes.txt"),
        ("תמחק את הקובץ notes.txt", Language::Hebrew, "delete file notes.txt"),
        ("删除文件 notes.txt", Language::Chinese, "delete file notes.txt"),
    ] {
        let found = in_english(text).unwrap_or_else(|| panic!("{text} is not read"));
        assert_eq!((found.language, found.text.as_str()), (language, english), "{text}");
        assert!(found.known > 0.9, "{found:?}");
    }
}

#[test]
fn short_orders_with_names_are_told_from_english() {
    for (text, language, english) in [
        ("Starte den Server eu-3 neu", Language::German, "restart Server eu-3"),
        ("Laborwerte von Patient 661", Language::German, "lab results from Patient 661"),
        ("Reembolsa el pedido 8812", Language::Spanish, "refund order 8812"),
        ("Überweise 120 Euro an Lena Vogt", Language::German, "transfer 120 euro to Lena Vogt"),
        ("busco libros de Borges", Language::Spanish, "search book of Borges"),
        ("supprime le bénéficiaire Marc Leroy", Language::French, "delete beneficiary Marc Leroy"),
        ("أين الجامعة", Language::Arabic, "where university"),
        ("תמצא מלון מ-2 במאי", Language::Hebrew, "find hotel from 2 in may"),
        ("5月2号的酒店", Language::Chinese, "May 2 hotel"),
    ] {
        let found = in_english(text).unwrap_or_else(|| panic!("{text} is not read"));
        assert_eq!((found.language, found.text.as_str()), (language, english), "{text}");
    }
}

#[test]
fn names_numbers_and_marks_stay() {
    let found = in_english("¿Qué tiempo hace en Porto, y en Lisboa el 12?").unwrap().text;
    assert!(found.contains("Porto,") && found.ends_with("12?"), "{found}");
    let found = in_english("שלח מייל ל dana@example.org בשעה 9:30").unwrap().text;
    assert!(found.contains("dana@example.org") && found.contains("9:30"), "{found}");
    let found = in_english("在 GitHub 创建 issue，标题是 login").unwrap().text;
    assert!(found.contains("GitHub") && found.contains("create"), "{found}");
}

#[test]
fn english_and_unknown_languages_are_left_alone() {
    for text in [
        "delete the file notes.txt",
        "commit on main",
        "flights to Los Angeles in May",
        "die roll",
        "hls => mp4 converter",
        "Searches Linear issues.",
        "Upgrade PAN-OS on Multiple HA Firewalls through Panorama",
        "d",
        "l = d * e",
        "a la carte menu for Zoë",
        "Müller invoice",
        "déjà vu movie times",
        "restaurant reservation",
        "email Dana",
        "ファイルを消して",
        "파일을 삭제해 줘",
        "kubectl get pods -n prod",
        "4711",
        "",
    ] {
        assert_eq!(in_english(text), None, "{text}");
    }
}

#[test]
fn languages_in_latin_letters_without_a_lexicon_are_told() {
    for text in [
        "Quanto è caldo il forno in questo momento?",
        "CHI LAVORA SABATO?",
        "Apri la porta del garage",
        "Wat is de status van order 12, en wie werkt er zaterdag?",
        "Kuka on töissä lauantaina?",
        "Vem jobbar på lördag?",
        "Hvor er min pakke",
        "legg til melk på handlelista",
        "Wyłącz światło w salonie",
        "Zavři okno",
        "bu metni İngilizceye çevir",
        "Ki dolgozik szombaton?",
        "Cine lucrează sâmbătă?",
        "bật nhạc lên",
        "Siapa yang bekerja hari Sabtu?",
    ] {
        assert!(is_unsupported(text), "{text}");
        assert_eq!(in_english(text), None, "{text}");
    }
    for text in [
        "pizza quattro stagioni for two",
        "play la vita è bella",
        "book a table at Trattoria da Mario",
        "weather in København tomorrow",
        "translate \"dove si trova la stazione\" to English",
        "Bjørn's calendar",
        "git stash pop",
        "borra el archivo",
        "Wann macht der Laden zu, und wer hat heute Dienst?",
        "qual o saldo da conta",
        "éteins la lumière du salon",
        "קבע פגישה",
        "ファイルを消して",
        "4711",
        "",
    ] {
        assert!(!is_unsupported(text), "{text}");
    }
}

#[test]
fn every_word_of_an_unsupported_language_is_its_own() {
    let mut seen = std::collections::HashSet::new();
    for (language, words) in unsupported::rows() {
        for word in words.split(' ') {
            assert!(seen.insert((language, word)), "{language} has {word} twice");
            assert!(!word.is_empty() && word == word.to_lowercase(), "{language}: {word}");
            assert!(!language::is_english(word), "{language}: {word} is English too");
            assert_eq!(words::plain_words(word).next().as_deref(), Some(word), "{language}");
        }
    }
    let mut languages: Vec<_> = unsupported::rows().map(|(language, _)| language).collect();
    languages.dedup();
    assert_eq!(languages.len(), 13, "{languages:?}");
}

#[test]
fn every_entry_of_a_lexicon_is_a_word_and_its_english() {
    let others = [Language::Arabic, Language::Chinese, Language::Hebrew, Language::Russian];
    for language in language::LATIN.into_iter().chain(others) {
        let data = Lexicon::of(language).data;
        assert!(data.lines().count() > 2_500, "{language:?}");
        for line in data.lines() {
            let columns: Vec<&str> = line.split('\t').collect();
            let [word, english] = columns[..] else { panic!("{language:?}: {line}") };
            assert!(!word.trim().is_empty() && english.is_ascii() && !english.is_empty(), "{line}");
            assert_eq!(word, word.to_lowercase(), "{language:?}: {line}");
        }
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(borra |el |datei |l'|שלח|ה|文件|، |\\.|[a-zé]{1,6} |\\PC){0,12}") {
        let _ = is_unsupported(&text);
        if let Some(found) = in_english(&text) {
            proptest::prop_assert!((0.5..=1.0).contains(&found.known), "{:?}", found);
        }
    }
}

#[test]
fn inflected_german_is_read() {
    for (prompt, english) in [
        ("Erstelle einen neuen Ordner", "create one new folder"),
        ("Storniere die Bestellung 55", "cancel order 55"),
        ("Finde den Kunden Müller", "find customer muller"),
        ("Neuer Ordner", "new folder"),
    ] {
        assert_eq!(in_english(prompt).map(|found| found.text).as_deref(), Some(english));
    }
}

#[test]
fn contractions_and_short_words_are_no_other_language() {
    for text in ["don't delete anything", "stash, don’t commit", "yo", "rot"] {
        assert_eq!(in_english(text), None, "{text}");
    }
}

#[test]
fn what_is_forbidden_stays_forbidden() {
    for (prompt, english, word) in [
        ("no copies el archivo", "not copy file", "no"),
        ("Kopiere nicht die Datei", "copy not file", "nicht"),
        ("אל תמחק את הקובץ", "not delete file", "אל"),
        ("不要删除文件", "not delete file", "不"),
        ("не удаляй файл", "not delete file", "не"),
        ("não apague o arquivo", "not delete file", "não"),
        ("ne supprime pas le fichier", "not delete not file", "ne"),
        ("لا تحذف الملف", "not file", "لا"),
    ] {
        assert_eq!(in_english(prompt).map(|found| found.text).as_deref(), Some(english));
        assert_eq!(restriction(prompt).as_deref(), Some(word), "{prompt}");
    }
    // "To" in Hebrew is written as "do not".
    for plain in ["תשלח מייל אל דנה", "lösche die Datei", "borra el archivo", "no lights"]
    {
        assert_eq!(restriction(plain), None, "{plain}");
    }
}

#[test]
fn separated_german_verbs_are_joined() {
    for (prompt, english) in [
        ("Sag die Veranstaltung E-104 ab", "cancel event E-104"),
        ("Sag die Reise ab.", "cancel trip."),
        ("sag die reise ab", "cancel trip"),
        ("Reist Familie Meyer heute ab?", "leave departure family meyer today?"),
        ("Checke Herrn Meyer aus", "check out meyer"),
        ("Checke Eva ein und Ali aus", "check in eva and Ali check out"),
        ("Sag Essen und Trinken ab", "cancel eat and drink"),
        ("Sag die Reise und den Termin ab", "cancel trip and appointment"),
        ("Sag das neue Treffen und das alte Treffen ab", "cancel new meeting and old meeting"),
        ("Sag Dana Bescheid und schick das Paket ab", "tell Dana and send package"),
        ("Sag Dana Bescheid und koch die Suppe ab", "tell Dana and cook soup from"),
        ("Mach das Licht an", "turn on light"),
        ("Der Termin ist abgesagt", "appointment cancel"),
        ("Vergiss nicht, den Termin abzusagen", "forget not, appointment cancel"),
        // No verb of the clause is listed with the particle.
        ("Wie weit ist es von der Stadt aus", "how far from city off"),
    ] {
        let found = in_english(prompt).map(|found| found.text.to_lowercase());
        assert_eq!(found, Some(english.to_lowercase()), "{prompt}");
    }
    for dutch in ["Zet het licht aan", "Zeg de afspraak af", "Schakel de verwarming uit"] {
        assert_eq!(in_english(dutch), None, "{dutch}");
    }
}

#[test]
fn many_german_particles_take_little_time() {
    let prompt = format!("Sag die Reise ab {}", "und ab ".repeat(4_700));
    let started = std::time::Instant::now();
    assert!(in_english(&prompt).is_some());
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
}

#[test]
fn a_listed_word_wins_over_the_stem_of_another() {
    for (prompt, english) in [
        ("تسجيل خروج الضيف", "guest"),
        ("تحتاج الغرفة إلى مناشف", "towel"),
        ("הבא מגבות לחדר", "towel"),
        ("האורחים בחדר", "guest"),
        ("Der Hahn tropft und das Waschbecken ist verstopft", "clogged"),
        ("el grifo gotea en el baño", "drip"),
        ("los puntos del cliente", "points"),
    ] {
        let found = in_english(prompt).unwrap_or_else(|| panic!("{prompt} is not read")).text;
        assert!(found.split(' ').any(|word| word == english), "{prompt}: {found}");
    }
}

#[test]
fn each_word_knows_its_place_in_the_original() {
    let text = "Verschieb RS-1240 auf den 9. Mai 2026, um 19 Uhr";
    let found = align(text, &[]).unwrap();
    assert_eq!(found.text, "move RS-1240 on 9 may 2026, at 19:00");
    let original = |part: &str| {
        let start = found.text.find(part).unwrap();
        &text[found.original(&(start..start + part.len())).unwrap()]
    };
    assert_eq!(original("RS-1240"), "RS-1240");
    assert_eq!(original("1240"), "1240");
    assert_eq!(original("9 may 2026"), "9. Mai 2026");
    assert_eq!(original("may"), "9. Mai 2026,");
    assert_eq!(original("19:00"), "19 Uhr");
    assert_eq!(found.original(&(0..0)), None);
}

#[test]
fn only_a_polite_beginning_makes_an_order_of_a_question() {
    for text in [
        "我可以删除页面20吗？",
        "هل ممكن حذف الصفحة 20؟",
        "peux-tu me dire comment supprimer la page 20 ?",
        "мог бы я остановить миксер?",
        "a batedeira pode parar?",
    ] {
        let found = align(text, &[]).unwrap().text;
        assert!(found.ends_with('?'), "{text}: {found}");
    }
    for text in ["Kannst du die Seite 20 löschen?", "можете удалить страницу 20?"]
    {
        let found = align(text, &[]).unwrap().text;
        assert!(!found.contains('?'), "{text}: {found}");
    }
    for text in [
        "prohibido borrar la página 20",
        "évite de supprimer la page 20",
        "es ist verboten, die Seite 20 zu löschen",
        "запрещено удалять страницу 20",
        "严禁删除页面20",
        "ممنوع حذف الصفحة 20",
        "evite apagar a página 20",
    ] {
        assert!(restriction(text).is_some(), "{text}");
    }
}

#[test]
fn quotes_and_names_are_kept_and_a_polite_question_is_none() {
    let text = "¿Puedes crear la tarea \"pagar la luz\" para Salas?";
    let quote = text.find('"').unwrap()..text.rfind('"').unwrap() + 1;
    let found = align(text, &[quote]).unwrap().text;
    assert!(found.contains("\"pagar la luz\"") && found.ends_with("Salas."), "{found}");
    let found = align("¿Está listo el pedido?", &[]).unwrap().text;
    assert!(found.ends_with('?'), "{found}");
    let found = align("Buche ein Zimmer für Jürgen Groß", &[]).unwrap().text;
    assert!(found.ends_with("Jürgen Groß"), "{found}");
    let found = align("La facture INV-3102 est toujours fausse", &[]).unwrap().text;
    assert!(found.contains("INV-3102 is"), "{found}");
    let found = align("5月9日入住", &[]).unwrap().text;
    assert_eq!(found, "May 9 check in");
    let found = align("订单O-85给王建国", &[]).unwrap().text;
    assert!(found.contains("O-85") && found.ends_with("王建国"), "{found}");
}

proptest::proptest! {
    #[test]
    fn every_part_of_a_translation_has_a_place_between_characters(
        text in "(Mai |9\\. |2026年|5月|15日|נא |к |ç|é|lösche |die |Datei |de |la |, |\\? |\"|«|م |٣ |\\PC){0,14}",
        from in 0_usize..60,
        length in 1_usize..20,
    ) {
        if let Some(found) = align(&text, &[]) {
            let end = found.text.floor_char_boundary((from + length).min(found.text.len()));
            let start = found.text.floor_char_boundary(from.min(end));
            for place in [found.original(&(start..end)), found.original_with_fillers(&(start..end))].into_iter().flatten() {
                proptest::prop_assert!(text.get(place.clone()).is_some(), "{found:?}: {start}..{end}, {place:?}");
            }
        }
    }
}
