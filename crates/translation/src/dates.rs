//! Puts dates and times of other languages into an English form.

use super::alignment::Piece;
use super::words::MONTHS;

/// Words that may stand between the parts of a date.
const BETWEEN: [&str; 5] = ["of", "in", "year", "day", "the"];

/// Endings of ordinals: "1er", "2º", "10-го".
const ORDINALS: [&str; 10] = [".", "er", "º", "ª", "°", "-го", "-е", "-ое", "го", "-му"];

/// Words for the hour behind a number.
const HOURS: [&str; 3] = ["oclock", "o'clock", "hour"];

/// Whether a meaning is a month, a day of the week or another word of the calendar.
pub(super) fn is_of_calendar(meaning: Option<&str>) -> bool {
    const DAYS: &str =
        "monday tuesday wednesday thursday friday saturday sunday today tomorrow yesterday";
    let is_day = |meaning: &str| DAYS.split(' ').any(|day| day == meaning);
    meaning.is_some_and(|meaning| month(meaning).is_some() || is_day(meaning))
}

/// The number of a month, from 1.
fn month(word: &str) -> Option<usize> {
    // "In may" is one word in Hebrew.
    let word = word.strip_prefix("in ").unwrap_or(word);
    MONTHS.iter().position(|month| month.eq_ignore_ascii_case(word)).map(|at| at + 1)
}

/// Writes the dates among the pieces as "9 may 2026" or as in ISO 8601, and times as "18:30".
pub(super) fn in_english(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut written: Vec<Piece> = Vec::with_capacity(pieces.len());
    let mut at = 0;
    while at < pieces.len() {
        let (piece, taken) = days_at(&pieces[at..], written.last())
            .or_else(|| date_at(&pieces[at..]))
            .or_else(|| hour_at(&pieces[at..], written.last()))
            .unwrap_or_else(|| (with_plain_digits(&pieces[at]), 1));
        if is_clock(&piece.english) {
            lead_by_at(&mut written);
        }
        written.push(piece);
        at += taken;
    }
    written
}

/// Whether a word is a time of the day such as "19:30".
fn is_clock(word: &str) -> bool {
    let core = word.trim_end_matches(|c: char| !c.is_ascii_digit());
    let parts = core.split_once(':');
    parts.is_some_and(|(hours, minutes)| {
        minutes.len() == 2 && hours.parse::<u8>().is_ok() && minutes.parse::<u8>().is_ok()
    })
}

/// Words before a time of the day, beside "from".
const LEADS: [&str; 5] = ["to", "on", "in", "hour", "time"];

/// Writes the preposition before a time of the day as "at", unless it is the end of a period: "from 9:00 to 10:00".
fn lead_by_at(written: &mut [Piece]) {
    let Some((lead, before)) = written.split_last_mut() else { return };
    let is_period =
        before.last().is_some_and(|from| is_clock(&from.english)) && lead.english == "to";
    if !is_period && LEADS.contains(&lead.english.as_str()) {
        lead.english = "at".to_owned();
    }
}

/// Words between the first and the last day of a period: "с 6 по 17 июля".
const JOINING: [&str; 5] = ["to", "to until", "till", "until", "by"];

/// Words before the first day: "del 6 al 17 de julio", "vom 6. bis 17. Juli".
const BEGINNING: [&str; 4] = ["from", "from with", "of", "between"];

/// Reads two days of one month behind the word that begins a period: "du 6 au 17 juillet".
fn days_at(pieces: &[Piece], before: Option<&Piece>) -> Option<(Piece, usize)> {
    let begins = before.is_some_and(|piece| BEGINNING.contains(&piece.english.as_str()));
    let first = day(&pieces[0].english).filter(|_| begins)?;
    pieces.get(1).filter(|piece| JOINING.contains(&piece.english.as_str()))?;
    let (last, taken) = date_at(pieces.get(2..).filter(|rest| !rest.is_empty())?)?;
    let is_later = last.english.split(' ').next().and_then(day).is_some_and(|last| first < last);
    let place = pieces[0].place.start..last.place.end;
    is_later.then(|| (Piece::new(format!("{first} to {}", last.english), place), 2 + taken))
}

/// Reads a date at the beginning of some pieces, and returns it with the number of its pieces.
fn date_at(pieces: &[Piece]) -> Option<(Piece, usize)> {
    let joined = |last: usize, english: String| {
        let place = pieces[0].place.start..pieces[last].place.end;
        Some((Piece::new(english, place), last + 1))
    };
    let first = &pieces[0].english;
    // "2026年6月1日".
    if let Some(year) = year(first) {
        let month_at = behind(pieces, 0);
        let month = month(&pieces.get(month_at)?.english)?;
        let day = day(&pieces.get(month_at + 1)?.english)?;
        return joined(month_at + 1, format!("{year}-{month:02}-{day:02}"));
    }
    // "5月9日".
    if month(first).is_some() && pieces.get(1).is_some_and(|next| day(&next.english).is_some()) {
        return joined(1, format!("{first} {}", pieces[1].english));
    }
    let day = day(first)?;
    let month_at = behind(pieces, 0);
    let name = pieces.get(month_at).map(|piece| piece.english.as_str())?;
    month(name)?;
    let name = name.trim_start_matches("in ");
    let year_at = behind(pieces, month_at);
    let Some(year) = pieces.get(year_at).and_then(|piece| year(&piece.english)) else {
        return joined(month_at, format!("{day} {name}"));
    };
    // "2026 года", and marks such as the one of "2026?".
    let end = pieces.get(year_at + 1).is_some_and(|piece| piece.english == "year");
    let mark = pieces[year_at].english.trim_start_matches(|c: char| c.is_numeric());
    joined(year_at + usize::from(end), format!("{day} {name} {year}{mark}"))
}

/// The index of the next piece that is not one of the words between the parts of a date.
fn behind(pieces: &[Piece], at: usize) -> usize {
    let is_between = |piece: &Piece| BETWEEN.contains(&piece.english.as_str());
    let words = pieces[at + 1..].iter().take(2).take_while(|piece| is_between(piece)).count();
    at + 1 + words
}

fn year(said: &str) -> Option<u16> {
    let digits = ascii_digits(said);
    let digits = digits.trim_end_matches(['.', ',', '?', '!', ';', ':']);
    digits.parse().ok().filter(|year| (1900..2100).contains(year) && digits.len() == 4)
}

fn day(said: &str) -> Option<u8> {
    let digits = ascii_digits(&said.to_lowercase());
    let plain = ORDINALS.iter().find_map(|ending| digits.strip_suffix(ending)).unwrap_or(&digits);
    plain.parse().ok().filter(|day| (1..=31).contains(day) && plain.len() <= 2)
}

/// Reads "18h30", "18 h" and, after "at" or the like, "19 Uhr".
fn hour_at(pieces: &[Piece], before: Option<&Piece>) -> Option<(Piece, usize)> {
    let said = pieces[0].english.to_lowercase();
    let said = ascii_digits(&said);
    let core = said.trim_end_matches(['.', ',', '?', '!', ';']);
    let mark = &said[core.len()..];
    let clock = |hours: &str, minutes: &str| {
        let hours: u8 = hours.parse().ok().filter(|hours| *hours < 24)?;
        let minutes: u8 = if minutes.is_empty() { 0 } else { minutes.parse().ok()? };
        (minutes < 60).then(|| format!("{hours:02}:{minutes:02}"))
    };
    if let Some((hours, minutes)) = core.split_once('h') {
        let is_time = matches!(minutes.len(), 0 | 2) && (1..=2).contains(&hours.len());
        let is_moment = minutes.len() == 2 || before.is_some_and(leads_to_time);
        let english = clock(hours, minutes).filter(|_| is_time && is_moment)?;
        return Some((Piece::new(format!("{english}{mark}"), pieces[0].place.clone()), 1));
    }
    let next = pieces.get(1)?;
    let is_hour = HOURS[..2].contains(&next.english.as_str())
        || next.english == HALF
        || next.english == HOURS[2] && before.is_some_and(leads_to_time);
    // "6点45分", "2点半".
    let said = |at: usize| pieces.get(at).map_or("", |piece| piece.english.as_str());
    let (minutes, last) = match (said(2), said(3)) {
        _ if next.english == HALF => ("30", 1),
        (minutes, "minute") if minutes.len() == 2 => (minutes, 3),
        _ => ("", 1),
    };
    let hour: u8 = core.parse().ok().filter(|_| is_hour && core.len() <= 2)?;
    let is_late = |piece: &Piece| piece.english.split(' ').any(|word| LATE.contains(&word));
    let hour = if before.is_some_and(is_late) && hour < 12 { hour + 12 } else { hour };
    let english = clock(&hour.to_string(), minutes)?;
    Some((Piece::new(english, pieces[0].place.start..pieces[last].place.end), last + 1))
}

/// Halves of the day before an hour that count from noon.
const LATE: [&str; 2] = ["afternoon", "evening"];

/// Half past the hour before it, in Chinese: "2点半".
const HALF: &str = "oclock half";

/// Whether a time of the day follows a word: "at 19", but not "for 2 hours".
fn leads_to_time(piece: &Piece) -> bool {
    matches!(
        piece.english.as_str(),
        "at" | "from" | "to" | "until" | "till" | "on" | "in" | "before" | "after" | "around"
    )
}

fn with_plain_digits(piece: &Piece) -> Piece {
    let digits = ascii_digits(&piece.english);
    Piece { english: with_decimal_point(&digits).unwrap_or(digits), ..piece.clone() }
}

/// Writes a number with a decimal comma as in English: 45.50 for "45,50", also before the sign of a currency.
fn with_decimal_point(said: &str) -> Option<String> {
    let (whole, rest) = said.split_once(',')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    // A list such as "3,5,8" and a thousand are none.
    let is_end = !rest[digits..].contains(|c: char| c.is_alphanumeric() || c == ',');
    let whole = whole.replace('.', "");
    (is_number(&whole) && (1..=2).contains(&digits) && is_end).then(|| format!("{whole}.{rest}"))
}

/// Returns a text with the digits of Arabic and Persian, and those of full width, as ASCII digits.
fn ascii_digits(said: &str) -> String {
    let digit = |c: char| match c {
        '\u{660}'..='\u{669}' => char::from(b'0' + (c as u32 - 0x660) as u8),
        '\u{6F0}'..='\u{6F9}' => char::from(b'0' + (c as u32 - 0x6F0) as u8),
        '\u{FF10}'..='\u{FF19}' => char::from(b'0' + (c as u32 - 0xFF10) as u8),
        c => c,
    };
    said.chars().map(digit).collect()
}
