//! The interpretation of a mention as the value of a parameter.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::super::params::Checker;
use super::decimal::Decimal;
use super::mention::{Amount, Content, Mention, is_certain_id, is_path, is_repository};
use super::slot::{Kind, Slot};
use super::time::{PartialDateTime, Period, Zone};
use super::unit::{Dimension, Unit};

/// The usual form of a day, if a parameter's description names no other.
pub(super) const ISO_DAY: &str = "%Y-%m-%d";
/// The longest text after a colon in bytes that is a title. A longer one is a message.
const LONGEST_TITLE: usize = 160;

/// The meaning of a mention for a slot.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Interpretation {
    /// The mention is not a value for the slot.
    NotApplicable,
    Value {
        value: Value,
        how: String,
    },
    /// The mention has the right kind but is invalid, for this reason.
    Invalid(String),
    /// The mention can mean several values.
    Ambiguous(Vec<String>),
}

impl Interpretation {
    fn text(text: impl Into<String>, how: &str) -> Self {
        Self::Value { value: Value::String(text.into()), how: how.to_owned() }
    }

    fn invalid(why: &str) -> Self {
        Self::Invalid(why.to_owned())
    }

    /// The only one of some possible texts, `how` it was derived; ambiguous if there are several.
    pub fn only(texts: Vec<String>, how: &str) -> Self {
        match <[String; 1]>::try_from(texts) {
            Ok([text]) => Self::text(text, how),
            Err(texts) if texts.is_empty() => Self::NotApplicable,
            Err(texts) => Self::Ambiguous(texts),
        }
    }
}

/// Interprets the mentions of one prompt.
pub(super) struct Interpreter<'a> {
    pub zone: &'a TimeZone,
    pub checker: &'a Checker,
    /// Whether the tool has a parameter for the unit or the currency of its amounts.
    pub has_unit: bool,
    /// Whether the tool has a parameter for the time of the day.
    pub has_time: bool,
    /// Whether the tool has a parameter for a day or a moment.
    pub has_day: bool,
    pub today: Date,
    /// Whether the tool only reads, so that an id of another form than the example does no harm.
    pub reads_only: bool,
}

impl Interpreter<'_> {
    /// Interprets a mention for a slot. `named` states whether the words beside the mention name
    /// the slot; without a name the rules are stricter.
    pub fn read(&self, mention: &Mention, slot: &Slot, named: bool) -> Interpretation {
        let reading = match (slot.kind, &mention.content) {
            (Kind::Integer | Kind::Number, Content::Amount(amount)) => {
                self.number(amount, slot, named)
            }
            (Kind::Day, Content::When(when)) => self.day(when, slot),
            (Kind::Day, Content::Period(period)) => self.first_day(period, slot, named),
            (Kind::Month, content) => month(content, slot),
            (Kind::Country, content) => country(content, named),
            (Kind::Moment, Content::When(when)) => self.moment(when, slot),
            (Kind::Time, Content::When(when)) => self.time(when, slot),
            (Kind::Id, content) if !named && self.excludes(content, slot) => {
                Interpretation::NotApplicable
            }
            (_, content) => text(content, slot, named),
        };
        let Interpretation::Value { value, .. } = &reading else { return reading };
        let misfit = self.checker.misfit(&slot.path, slot.is_list, value);
        misfit.map_or(reading, Interpretation::Invalid)
    }

    /// Whether an id has another form than the slot's ids.
    fn excludes(&self, content: &Content, slot: &Slot) -> bool {
        let Content::Token(id) = content else { return false };
        !self.reads_only && slot.excludes(id) && !slot.resembles(id)
    }

    fn number(&self, amount: &Amount, slot: &Slot, named: bool) -> Interpretation {
        let is_percent = amount.units.contains(&Unit::Percent);
        if slot.is_money() && slot.unit != Some(Unit::Percent) && (amount.is_part || is_percent) {
            return Interpretation::invalid("a part is said, and of what is not");
        }
        if amount.is_part {
            return Interpretation::NotApplicable;
        }
        if amount.is_range {
            return Interpretation::invalid("a range of numbers is no number");
        }
        // "300K" are kelvins or thousands.
        let said =
            if slot.says("kelvin") { amount.before_k.or(amount.value) } else { amount.value };
        let Some(said) = said else {
            return Interpretation::invalid("the number can be read in two ways");
        };
        if amount.is_spelled && !named && amount.units.is_empty() {
            return Interpretation::NotApplicable;
        }
        if slot.is_change() && !named && !amount.is_signed {
            return Interpretation::invalid("whether it is added or taken away is not said");
        }
        let (value, how) = match slot.unit {
            _ if !amount.units.is_empty() => match self.in_unit(amount, slot, named) {
                Ok(converted) => converted,
                Err(reading) => return reading,
            },
            Some(unit) if unit == Unit::Cents || !(named || unit.is_usually_omitted()) => {
                return Interpretation::Invalid(format!(
                    "the unit of {said} is not said, and it counts in {unit}"
                ));
            }
            _ => (said, String::new()),
        };
        if slot.kind == Kind::Integer && !value.is_whole() {
            return Interpretation::Invalid(format!("{value} is no whole number"));
        }
        match value.to_json() {
            Some(value) => Interpretation::Value { value, how },
            None => Interpretation::invalid("the number is too large"),
        }
    }

    /// Converts the amount to the slot's unit, with a description of the conversion.
    fn in_unit(
        &self,
        amount: &Amount,
        slot: &Slot,
        named: bool,
    ) -> Result<(Decimal, String), Interpretation> {
        let said = amount.value.ok_or(Interpretation::NotApplicable)?;
        let Some(unit) = slot.unit else { return self.without_unit(amount, slot, named) };
        let same = amount.units.iter().filter(|from| from.dimension() == unit.dimension());
        let Some(from) = same.clone().next() else {
            return Err(self.wrong_unit(amount, slot, named));
        };
        let mut values = same.filter_map(|from| Some((from.convert(said, unit)?, from)));
        let Some((value, from)) = values.next() else {
            return Err(Interpretation::Invalid(format!(
                "it counts in {unit}, and {said} {from} is said"
            )));
        };
        let how =
            if value == said { String::new() } else { format!("{said} {from} are {value} {unit}") };
        Ok((value, how))
    }

    /// Reads an amount with a unit for a parameter without one.
    fn without_unit(
        &self,
        amount: &Amount,
        slot: &Slot,
        named: bool,
    ) -> Result<(Decimal, String), Interpretation> {
        let said = amount.value.ok_or(Interpretation::NotApplicable)?;
        let has =
            |dimension: Dimension| amount.units.iter().any(|unit| unit.dimension() == dimension);
        if has(Dimension::Percent)
            && let Some(read) = self.percent(said, slot)
        {
            return read;
        }
        let is_right = if has(Dimension::Money) {
            if amount.units.contains(&Unit::Cents) {
                let why = "whether it counts in cents is not known";
                return Err(Interpretation::invalid(why));
            }
            let is_told = || amount.units.iter().any(|unit| slot.tells_currency(*unit));
            if slot.is_money() && !self.has_unit && !self.reads_only && !is_told() {
                let why = "which currency it counts in is not known";
                return Err(Interpretation::invalid(why));
            }
            named || slot.is_money()
        } else {
            // "3 cups" and "3 yards" may be things.
            let is_thing = has(Dimension::Volume) || has(Dimension::Length);
            let is_usual = has(Dimension::Temperature) && slot.has_word("temperature")
                || is_thing && slot.is_quantity();
            // A parameter that has fractions counts in seconds as a rule: "split it at 8 seconds".
            let is_usual = is_usual
                || slot.kind == Kind::Number
                    && matches!(amount.units[..], [Unit::Scaled { name: "seconds", .. }])
                    && slot.words.len() == 1
                    && slot.has_word("at duration end offset start time")
                    && !amount.is_signed;
            self.has_unit || is_usual || (named && self.reads_only && is_measure(amount))
        };
        let wrong = || self.wrong_unit(amount, slot, named);
        is_right.then(|| (said, String::new())).ok_or_else(wrong)
    }

    /// Reads a percentage for a parameter without a unit. Returns `None` if it is about no share.
    fn percent(
        &self,
        said: Decimal,
        slot: &Slot,
    ) -> Option<Result<(Decimal, String), Interpretation>> {
        let is_share = slot.says("percent percentage probability rate ratio return share yield")
            || (slot.kind == Kind::Integer && slot.has_word("brightness level loudness volume"));
        if slot.has_maximum_100 || slot.says("percent percentage") || slot.kind == Kind::Integer {
            return (is_share || slot.has_maximum_100).then(|| Ok((said, String::new())));
        }
        let part = said.times(1, 100).filter(|_| is_share)?;
        // A percentage is a number by itself; a tool that may change something is asked about.
        Some(match self.reads_only {
            true => Ok((part, format!("{said} % are {part}"))),
            false => Err(Interpretation::Ambiguous(vec![part.to_string(), said.to_string()])),
        })
    }

    /// Returns the interpretation of an amount whose unit does not fit the slot.
    fn wrong_unit(&self, amount: &Amount, slot: &Slot, named: bool) -> Interpretation {
        if !named {
            return Interpretation::NotApplicable;
        }
        let units: Vec<String> = amount.units.iter().map(ToString::to_string).collect();
        let unit = slot.unit.map_or("a number without a unit".to_owned(), |unit| unit.to_string());
        Interpretation::Invalid(format!("expected {unit}, found {}", units.join(" or ")))
    }

    fn day(&self, when: &PartialDateTime, slot: &Slot) -> Interpretation {
        if when.is_instant || (!when.times.is_empty() && !self.has_time) {
            return Interpretation::NotApplicable;
        }
        let form = match when.days.len() {
            1 => slot.day_form.as_deref().unwrap_or(ISO_DAY),
            _ => ISO_DAY,
        };
        let days = when.days.iter().map(|day| day.strftime(form).to_string());
        Interpretation::only(days.collect(), "by the calendar")
    }

    /// Returns the first day of a period for parameters such as `since`. Other parameters need a
    /// single day.
    fn first_day(&self, period: &Period, slot: &Slot, named: bool) -> Interpretation {
        if !named {
            return Interpretation::NotApplicable;
        }
        if !slot.has_word("since from start") {
            return Interpretation::invalid("one day of it is needed");
        }
        let days = period.readings.iter().map(|(first, _)| *first).collect();
        self.day(&PartialDateTime { days, ..PartialDateTime::default() }, slot)
    }

    fn moment(&self, when: &PartialDateTime, slot: &Slot) -> Interpretation {
        if let Zone::Ambiguous(zone) = &when.zone {
            return Interpretation::Invalid(format!(
                "\"{zone}\" names several time zones; give an offset such as +02:00"
            ));
        }
        if when.times.is_empty() {
            return Interpretation::invalid("the time of the day is not said");
        }
        if when.days.is_empty() {
            return Interpretation::invalid("the day is not said");
        }
        if slot.moment_form.is_some() && !matches!(when.zone, Zone::Local) {
            return Interpretation::invalid("its form has no place for the time zone that is said");
        }
        match when.moments(self.zone, slot.moment_form.as_deref()) {
            Some(moments) => Interpretation::only(moments, "by the calendar"),
            None => Interpretation::invalid("the clocks skip or repeat that time on that day"),
        }
    }

    fn time(&self, when: &PartialDateTime, slot: &Slot) -> Interpretation {
        let is_other_day = when.days.iter().any(|day| *day != self.today);
        if is_other_day && !self.has_day && !self.reads_only {
            return Interpretation::invalid("no parameter takes the day that is said with it");
        }
        if !matches!(when.zone, Zone::Local) {
            return Interpretation::invalid(
                "no parameter takes the time zone that is said with it",
            );
        }
        // The offset depends on the day, so the value has none.
        let has_seconds = slot.has_time_format || when.times.iter().any(|time| time.second() > 0);
        let form = if has_seconds { "%H:%M:%S" } else { "%H:%M" };
        let times = when.times.iter().map(|time| time.strftime(form).to_string());
        Interpretation::only(times.collect(), "by the clock")
    }
}

/// Whether an amount is a measure that a parameter without a unit may be meant in.
fn is_measure(amount: &Amount) -> bool {
    let [unit] = amount.units[..] else { return false };
    !matches!(unit.dimension(), Dimension::Time | Dimension::Months | Dimension::Percent)
}

/// Interprets the name or the code of a country as its code.
fn country(content: &Content, named: bool) -> Interpretation {
    let (Content::Place(said) | Content::Token(said) | Content::Quoted(said)) = content else {
        return Interpretation::NotApplicable;
    };
    match super::country::code(said) {
        Some(code) => {
            let how = if code == said { String::new() } else { format!("the code of {said}") };
            Interpretation::Value { value: code.into(), how }
        }
        None if named => Interpretation::Invalid("no country of that name is known".to_owned()),
        None => Interpretation::NotApplicable,
    }
}

/// Interprets "October 2026" and "2026-10" as a month.
fn month(content: &Content, slot: &Slot) -> Interpretation {
    let months: Option<Vec<Date>> = match content {
        Content::Period(period) => {
            let month = |(first, last): &(Date, Date)| {
                (first.day() == 1 && *last == first.last_of_month()).then_some(*first)
            };
            period.readings.iter().map(month).collect()
        }
        // "2026-10" is read as a range of numbers.
        Content::Amount(Amount { value: Some(year), to: Some(month), units, .. })
            if units.is_empty() =>
        {
            let part = |number: &Decimal| number.to_json().and_then(|number| number.as_i64());
            let year = part(year).filter(|year| (1900..2200).contains(year));
            let day = year.zip(part(month)).and_then(|(year, month)| {
                Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, 1).ok()
            });
            let Some(day) = day else { return Interpretation::NotApplicable };
            Some(vec![day])
        }
        Content::Quoted(text) if slot.pattern.is_none() => {
            return Interpretation::Value { value: text.clone().into(), how: String::new() };
        }
        _ => return Interpretation::NotApplicable,
    };
    match months.as_deref() {
        None => Interpretation::Invalid("one month is needed".to_owned()),
        Some([_]) if !slot.has_month_form => {
            Interpretation::Invalid("how a month is written for it is not known".to_owned())
        }
        Some([month]) => Interpretation::Value {
            value: month.strftime("%Y-%m").to_string().into(),
            how: "by the calendar".to_owned(),
        },
        Some(months) => {
            let said = months.iter().map(|month| month.strftime("%Y-%m").to_string());
            Interpretation::Ambiguous(said.collect())
        }
    }
}

/// Whether a word ends like the name of a file of a kind that few know: "hook.gcode".
fn has_ending(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (2..=6).contains(&ending.len())
            && ending.starts_with(|c: char| c.is_ascii_lowercase())
            && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Interprets values that are passed on unchanged.
fn text(content: &Content, slot: &Slot, named: bool) -> Interpretation {
    let as_said = |text: &str| Interpretation::text(text, "");
    match (slot.kind, content) {
        // No branch has a space: "rename it to "Round VAT"".
        (_, Content::Quoted(text)) if slot.has_word("branch ref") && text.contains(' ') => {
            Interpretation::NotApplicable
        }
        (Kind::Email, Content::Email(text))
        | (Kind::Url, Content::Url(text))
        | (Kind::Path, Content::Path(text))
        | (Kind::Place, Content::Place(text))
        | (Kind::Address, Content::Address(text) | Content::Quoted(text))
        | (Kind::Currency, Content::Currency(text))
        | (Kind::Query | Kind::Message | Kind::Text, Content::Quoted(text)) => as_said(text),
        (Kind::Text, Content::Path(path)) if slot.is_repository() && is_repository(path) => {
            as_said(path)
        }
        (kind, Content::Rest(text)) if slot.takes_rest => {
            let is_line = text.len() <= LONGEST_TITLE && !text.contains('\n');
            match kind == Kind::Message || is_line {
                true => as_said(text),
                false => Interpretation::NotApplicable,
            }
        }
        (Kind::Text | Kind::Id, Content::Token(text))
            if is_phone(text) && (slot.is_phone() || !named || text.starts_with('+')) =>
        {
            match slot.is_phone() {
                true => as_said(text),
                false => Interpretation::NotApplicable,
            }
        }
        (Kind::Path, Content::Quoted(text)) if named || has_path_form(text) => as_said(text),
        (Kind::Email, Content::Quoted(text)) if text.contains('@') => as_said(text),
        (Kind::Url, Content::Quoted(text)) if text.contains("://") => as_said(text),
        (Kind::Place | Kind::Id, Content::Quoted(text)) if named => as_said(text),
        (Kind::Place, Content::Token(text)) if named && text.chars().all(char::is_alphabetic) => {
            as_said(text)
        }
        (Kind::Path, Content::Token(text)) if named || has_ending(text) => as_said(text),
        (Kind::Text, Content::Token(text)) if named => as_said(text),
        (Kind::Text, Content::Token(text)) if slot.forms.iter().any(|form| form.is_match(text)) => {
            as_said(text)
        }
        (Kind::Text, Content::Token(text))
            if text.contains('*') && slot.has_word("pattern glob") =>
        {
            as_said(text)
        }
        (Kind::Text, Content::Token(text))
            if slot.says("login username handle")
                && text.contains(['.', '_', '@'])
                && !is_certain_id(text) =>
        {
            as_said(text)
        }
        (Kind::Id, content) => id(content, slot, named),
        _ => Interpretation::NotApplicable,
    }
}

fn id(content: &Content, slot: &Slot, named: bool) -> Interpretation {
    let as_said = |text: &str| Interpretation::text(text, "");
    let fits = |text: &str| slot.pattern.as_ref().is_some_and(|pattern| pattern.is_match(text));
    match content {
        Content::Token(text) | Content::Path(text) | Content::Currency(text) => {
            let is_token = matches!(content, Content::Token(_));
            let is_certain = is_certain_id(text) || (slot.required && is_code(text));
            let is_free = slot.pattern.is_none() && is_certain;
            let can_be = slot.shows(text) || (is_token && (named || is_free));
            if can_be { as_said(text) } else { Interpretation::NotApplicable }
        }
        Content::Quoted(text) if fits(text) => as_said(text),
        Content::Amount(Amount { digits: Some(digits), .. }) if named || fits(digits) => {
            as_said(digits)
        }
        _ => Interpretation::NotApplicable,
    }
}

/// Whether a text is a telephone number: an international one, or one with the prefix of a town.
fn is_phone(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || " ()-./+".contains(c);
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    // Four groups of four are another number: an ORCID, a card.
    let is_four = text.split([' ', '-']).map(str::len).eq([4; 4]);
    let is_grouped =
        !is_four && text.starts_with(['0', '(']) && text.contains([' ', '-', '.', '/']);
    // "415-555-0132", but no day: "2026-05-11".
    let is_american = text.split('-').map(str::len).eq([3, 3, 4]);
    let is_national = (is_grouped || is_american) && text.chars().all(is_part);
    (text.starts_with('+') || is_national) && digits >= 8
}

/// Whether a word consists of capitals and digits, as codes do: "XMAS10".
fn is_code(word: &str) -> bool {
    let has = |test: fn(&u8) -> bool| word.bytes().any(|byte| test(&byte));
    word.len() > 3
        && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_uppercase)
}

/// Whether a quoted text looks like a path.
fn has_path_form(text: &str) -> bool {
    let joined: String = text.chars().map(|c| if c.is_whitespace() { '_' } else { c }).collect();
    is_path(&joined) && !text.contains("://")
}
