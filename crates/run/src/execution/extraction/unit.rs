//! Units of measure and currencies: their words, the unit of a parameter, and conversion.

use super::decimal::Decimal;
use super::text::{self, Word};

/// A dimension. Units of one dimension convert into each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dimension {
    Time,
    Months,
    Length,
    Mass,
    Volume,
    Data,
    Temperature,
    Area,
    Frequency,
    Energy,
    Power,
    Speed,
    Acceleration,
    Electric,
    Money,
    Percent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// A multiple of the base unit of its dimension: 1 ms, a month, 0.1 mm, 10 µg, 1 ml, 10 cm², 1 Hz, 1 J, 1 W, 1/18 m/s or a byte.
    /// A unit of size 0 does not convert.
    Scaled {
        dimension: Dimension,
        name: &'static str,
        size: i64,
    },
    /// A currency, by its ISO 4217 code.
    Currency(&'static str),
    /// Money whose sign or name several currencies share, such as "$": their codes, the one that is usually
    /// meant first.
    Money(&'static str),
    /// Hundredths of a currency.
    Cents,
    Celsius,
    Fahrenheit,
    /// Degrees of an unknown scale.
    Degrees,
    Percent,
}

use Dimension::{
    Acceleration, Area, Data, Electric, Energy, Frequency, Length, Mass, Months, Power, Speed,
    Time, Volume,
};

/// Name, dimension, size, and the words that mean the unit. Units of data with more than one common
/// size do not convert: a megabyte is a million bytes or 2^20 bytes.
const SCALED: &[(&str, Dimension, i64, &[&str])] = &[
    ("ms", Time, 1, &["ms", "msec", "msecs", "millisecond", "milliseconds", "millis"]),
    ("seconds", Time, 1_000, &["s", "sec", "secs", "second", "seconds"]),
    ("minutes", Time, 60_000, &["m", "min", "mins", "minute", "minutes"]),
    ("hours", Time, 3_600_000, &["h", "hr", "hrs", "hour", "hours"]),
    ("days", Time, 86_400_000, &["d", "day", "days"]),
    ("weeks", Time, 604_800_000, &["week", "weeks"]),
    ("months", Months, 1, &["month", "months"]),
    ("years", Months, 12, &["year", "years"]),
    ("mm", Length, 10, &["mm", "millimeter", "millimeters", "millimetre", "millimetres"]),
    ("cm", Length, 100, &["cm", "centimeter", "centimeters", "centimetre", "centimetres"]),
    ("m", Length, 10_000, &["m", "meter", "meters", "metre", "metres"]),
    (
        "km",
        Length,
        10_000_000,
        &["km", "kms", "kilometer", "kilometers", "kilometre", "kilometres"],
    ),
    ("feet", Length, 3_048, &["ft", "foot", "feet"]),
    ("miles", Length, 16_093_440, &["mi", "mile", "miles"]),
    ("mg", Mass, 100, &["mg", "milligram", "milligrams"]),
    ("g", Mass, 100_000, &["g", "gram", "grams"]),
    ("kg", Mass, 100_000_000, &["kg", "kilo", "kilos", "kilogram", "kilograms"]),
    ("lb", Mass, 45_359_237, &["lb", "lbs", "pound", "pounds"]),
    ("ml", Volume, 1, &["ml", "milliliter", "milliliters", "millilitre", "millilitres"]),
    ("liters", Volume, 1_000, &["l", "liter", "liters", "litre", "litres"]),
    ("cubic meters", Volume, 1_000_000, &["m³", "m^3", "m3", "cubicmeters", "cubicmetres"]),
    ("gallons", Volume, 0, &["gal", "gallon", "gallons"]),
    ("cups", Volume, 0, &["cup", "cups"]),
    ("teaspoons", Volume, 0, &["tsp", "teaspoon", "teaspoons"]),
    ("tablespoons", Volume, 0, &["tbsp", "tablespoon", "tablespoons"]),
    ("inches", Length, 254, &["inch", "inches"]),
    ("yards", Length, 9_144, &["yd", "yard", "yards"]),
    ("ounces", Mass, 0, &["oz", "ounce", "ounces"]),
    ("square meters", Area, 1_000, &["m²", "m^2", "m2", "sqm", "squaremeters", "squaremetres"]),
    ("square feet", Area, 0, &["ft²", "ft^2", "sqft", "squarefeet", "squarefoot"]),
    ("acres", Area, 0, &["acre", "acres"]),
    ("hectares", Area, 10_000_000, &["ha", "hectare", "hectares"]),
    ("Hz", Frequency, 1, &["hz", "hertz"]),
    ("kHz", Frequency, 1_000, &["khz", "kilohertz"]),
    ("MHz", Frequency, 1_000_000, &["mhz", "megahertz"]),
    ("calories", Energy, 0, &["cal", "kcal", "calorie", "calories"]),
    ("joules", Energy, 1, &["joule", "joules"]),
    ("kWh", Energy, 3_600_000, &["kwh"]),
    ("watts", Power, 1, &["w", "watt", "watts"]),
    ("kW", Power, 1_000, &["kw", "kilowatt", "kilowatts"]),
    (
        "m/s",
        Speed,
        18,
        &["m/s", "mps", "meters/second", "metres/second", "meterspersecond", "metrespersecond"],
    ),
    ("m/s²", Acceleration, 0, &["m/s²", "m/s^2", "meters/second^2", "metres/second^2"]),
    ("km/h", Speed, 5, &["km/h", "kmh", "kph"]),
    ("mph", Speed, 0, &["mph"]),
    ("volts", Electric, 0, &["volt", "volts"]),
    ("amperes", Electric, 0, &["amp", "amps", "ampere", "amperes"]),
    ("coulombs", Electric, 0, &["coulomb", "coulombs"]),
    ("bytes", Data, 1, &["byte", "bytes"]),
    ("KiB", Data, 1 << 10, &["kib"]),
    ("MiB", Data, 1 << 20, &["mib"]),
    ("GiB", Data, 1 << 30, &["gib"]),
    ("KB", Data, 0, &["kb", "kilobyte", "kilobytes"]),
    ("MB", Data, 0, &["mb", "megabyte", "megabytes"]),
    ("GB", Data, 0, &["gb", "gigabyte", "gigabytes"]),
];

/// Frequent ISO 4217 codes.
const CODES: &str = "AED AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD HUF IDR ILS INR JPY KRW MXN NOK NZD PLN RON RUB \
     SEK SGD THB TRY TWD UAH USD ZAR";

/// Signs and names that mean one of these currencies alone.
const CURRENCIES: &[(&str, &[&str])] = &[
    ("AED", &["dirhams"]),
    ("AUD", &["australiandollar", "australiandollars"]),
    ("BRL", &["reais", "brazilianreais"]),
    ("CAD", &["canadiandollar", "canadiandollars"]),
    ("CHF", &["francs", "swissfranc", "swissfrancs"]),
    ("CNY", &["yuan", "chineseyuan"]),
    ("EUR", &["€", "euro", "euros"]),
    ("GBP", &["£", "britishpound", "britishpounds"]),
    ("HKD", &["hongkongdollar", "hongkongdollars"]),
    ("HUF", &["forint"]),
    ("ILS", &["₪", "nis", "shekel", "shekels"]),
    ("INR", &["₹", "indianrupee", "indianrupees"]),
    ("JPY", &["yen", "japaneseyen"]),
    ("KRW", &["₩", "koreanwon"]),
    ("MXN", &["mexicanpeso", "mexicanpesos"]),
    ("NZD", &["newzealanddollar", "newzealanddollars"]),
    ("PLN", &["zloty"]),
    ("RUB", &["₽"]),
    ("SGD", &["singaporedollar", "singaporedollars"]),
    ("THB", &["baht"]),
    ("TRY", &["turkishlira"]),
    ("USD", &["usdollar", "usdollars", "us$", "americandollar", "americandollars"]),
    ("ZAR", &["southafricanrand"]),
];

/// A pattern of the names of currencies that have the name of their country before them.
pub(super) const NATIONAL: &str = r"(?i:(?:american|australian|brazilian|british|canadian|chinese|hong\skong|indian|japanese|korean|mexican|new\szealand|singapore|south\safrican|swiss|turkish)\s(?:dollars?|francs?|lira|pesos?|pounds?|rand|reais|rupees?|won|yen|yuan))\b";

impl Unit {
    /// Returns the units that a word or sign after a number may mean. A single letter is a unit
    /// only in lower case, and a currency code only in capitals: `M` and `try` are not units.
    pub fn meanings_of(word: &str) -> Vec<Self> {
        let lower = word.to_lowercase();
        let mut units = Vec::new();
        for &(name, dimension, size, words) in SCALED {
            let is_short_upper = lower.len() == 1 && word != lower;
            if words.contains(&lower.as_str()) && !is_short_upper {
                units.push(Self::Scaled { dimension, name, size });
            }
        }
        units.extend(Self::currency(word).map(Self::Currency));
        units.extend(match lower.as_str() {
            "$" | "dollar" | "dollars" | "bucks" => {
                Some(Self::Money("USD AUD CAD HKD NZD SGD TWD MXN"))
            }
            "pound" | "pounds" => Some(Self::Money("GBP EGP")),
            "¥" => Some(Self::Money("JPY CNY")),
            "¢" | "cent" | "cents" => Some(Self::Cents),
            "°c" | "celsius" => Some(Self::Celsius),
            "°f" | "fahrenheit" => Some(Self::Fahrenheit),
            "°" | "degree" | "degrees" => Some(Self::Degrees),
            "%" | "percent" | "percentage" => Some(Self::Percent),
            _ => None,
        });
        units
    }

    /// Returns the code of the currency that a code, sign or name means. Spaces in signs and names
    /// are ignored.
    pub fn currency(word: &str) -> Option<&'static str> {
        let lower = word.to_lowercase().replace(' ', "");
        let named = || CURRENCIES.iter().find(|(_, names)| names.contains(&lower.as_str()));
        CODES.split(' ').find(|code| *code == word).or_else(|| named().map(|(code, _)| *code))
    }

    /// Returns the codes of the currencies that share a sign or a name.
    pub fn codes(&self) -> Option<&'static str> {
        if let Self::Money(codes) = self { Some(codes) } else { None }
    }

    pub fn dimension(self) -> Dimension {
        match self {
            Self::Scaled { dimension, .. } => dimension,
            Self::Currency(_) | Self::Money(_) | Self::Cents => Dimension::Money,
            Self::Celsius | Self::Fahrenheit | Self::Degrees => Dimension::Temperature,
            Self::Percent => Dimension::Percent,
        }
    }

    /// Whether people usually omit the unit of a value for a parameter with this unit. They omit
    /// "Celsius" for a thermostat, but "for 10" may be seconds or minutes.
    pub fn is_usually_omitted(self) -> bool {
        matches!(self, Self::Currency(_) | Self::Money(_) | Self::Celsius | Self::Percent)
    }

    /// Converts an amount to another unit. Returns `None` if the conversion is not exact or would
    /// be a guess.
    pub fn convert(self, amount: Decimal, to: Self) -> Option<Decimal> {
        match (self, to) {
            (from, to) if from == to => Some(amount),
            (Self::Scaled { size: 0, .. }, _) | (_, Self::Scaled { size: 0, .. }) => None,
            (
                Self::Scaled { dimension, size, .. },
                Self::Scaled { dimension: other, size: target, .. },
            ) if dimension == other => amount.times(size, target),
            (Self::Money("JPY CNY"), Self::Cents) => None,
            (Self::Money(_) | Self::Currency("EUR" | "USD" | "GBP" | "ILS"), Self::Cents) => {
                amount.times(100, 1)
            }
            (Self::Degrees, Self::Celsius | Self::Fahrenheit) => Some(amount),
            (Self::Money(codes), Self::Currency(code))
            | (Self::Currency(code), Self::Money(codes)) => {
                codes.starts_with(code).then_some(amount)
            }
            _ => None,
        }
    }

    /// Returns the unit of a parameter: the last word of its name, the only unit in its description
    /// ("in seconds", "number of days", "(ms)"), or the code of a currency at its beginning.
    pub fn of_parameter(name: &[String], description: &str) -> Option<Self> {
        let long = |word: &str| {
            let is_letter = name.len() > 1 && matches!(word, "l" | "m" | "s");
            let is_certain = is_letter || is_certain_unit(word);
            Self::meanings_of(word).into_iter().next().filter(|_| is_certain)
        };
        if let Some(unit) = name.last().and_then(|last| long(last).or_else(|| code(last))) {
            return Some(unit);
        }
        let words = text::words(description);
        let mut found: Vec<Self> = Vec::new();
        for (at, word) in words.iter().enumerate() {
            // "m^3" and "m/s" are one unit.
            let rest = &description[word.span.start..];
            let whole = rest.split([' ', ',', ';', ')', '\n']).next().unwrap_or(rest);
            let whole = whole.trim_end_matches('.');
            let is_joined = whole.contains(['^', '/', '²', '³']);
            let is_joined = is_joined && !Self::meanings_of(whole).is_empty();
            let said = if is_joined { whole } else { &description[word.span.clone()] };
            let introduced = at > 0 && introduces(&words[at - 1]);
            let enclosed = description[..word.span.start].ends_with('(');
            if (introduced || enclosed)
                && let Some(unit) = Self::meanings_of(said).into_iter().next()
                && !found.contains(&unit)
            {
                found.push(unit);
            }
        }
        // "Litres."
        if let ([word], true) = (&words[..], found.is_empty()) {
            found.extend(long(&word.lower));
        }
        // "EUR" alone, or "EUR, with VAT".
        let first = words.first().map(|word| &description[word.span.clone()]);
        let of_code = first.filter(|said| said.chars().all(char::is_uppercase));
        match found[..] {
            [unit] => Some(unit),
            [] => of_code.and_then(Self::currency).map(Self::Currency),
            _ => None,
        }
    }
}

fn introduces(word: &Word) -> bool {
    matches!(word.lower.as_str(), "in" | "of" | "as" | "degrees")
}

/// Whether a word at the end of a name is certainly a unit. A singular such as `day` may mean something else, and so may
/// a single letter but the last of `fade_s`, `length_m` and `volume_l`.
fn is_certain_unit(word: &str) -> bool {
    word.len() > 1
        && !matches!(word, "second" | "minute" | "hour" | "day" | "month" | "year" | "week")
}

/// Returns the currency of a code in lower case, as it occurs in names.
fn code(word: &str) -> Option<Unit> {
    Unit::currency(&word.to_uppercase()).filter(|_| word.len() == 3).map(Unit::Currency)
}

impl std::fmt::Display for Unit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Scaled { name, .. } => name,
            Self::Currency(code) => code,
            Self::Money(codes) => match codes.split(' ').next() {
                Some("USD") => "dollars",
                Some("GBP") => "pounds",
                _ => "¥",
            },
            Self::Cents => "cents",
            Self::Celsius => "°C",
            Self::Fahrenheit => "°F",
            Self::Degrees => "degrees",
            Self::Percent => "%",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(word: &str) -> Unit {
        Unit::meanings_of(word)[0]
    }

    #[test]
    fn amounts_convert_exactly_or_not() {
        let convert = |amount, from: &str, to: &str| {
            one(from).convert(Decimal::whole(amount), one(to)).map(|n| n.to_string())
        };
        assert_eq!(convert(90, "minutes", "hours").as_deref(), Some("1.5"));
        assert_eq!(convert(3, "miles", "km").as_deref(), Some("4.828032"));
        assert_eq!(convert(10, "minutes", "days"), None);
        assert_eq!(convert(5, "MB", "GB"), None);
        assert_eq!(convert(5, "MB", "MB").as_deref(), Some("5"));
        assert_eq!(convert(20, "$", "cents").as_deref(), Some("2000"));
        assert_eq!(convert(20, "USD", "EUR"), None);
        assert_eq!(convert(20, "$", "USD").as_deref(), Some("20"));
        for (from, to) in [("$", "AUD"), ("$", "EUR"), ("€", "$"), ("¥", "cents"), ("¢", "EUR")]
        {
            assert_eq!(convert(20, from, to), None, "{from} to {to}");
        }
        assert_eq!(convert(70, "°F", "°C"), None);
        assert_eq!(convert(1, "month", "days"), None);
    }

    #[test]
    fn a_parameter_says_what_it_counts_in() {
        let of = |name: &str, description: &str| {
            Unit::of_parameter(&text::name_words(name), description).map(|unit| unit.to_string())
        };
        assert_eq!(of("timeout_ms", "").as_deref(), Some("ms"));
        assert_eq!(of("duration", "Length in minutes").as_deref(), Some("minutes"));
        assert_eq!(of("amount", "Amount to refund in cents").as_deref(), Some("cents"));
        assert_eq!(of("days", "").as_deref(), Some("days"));
        assert_eq!(of("temperature", "Degrees Celsius").as_deref(), Some("°C"));
        assert_eq!(of("price_eur", "").as_deref(), Some("EUR"));
        assert_eq!(of("fade_s", "").as_deref(), Some("seconds"));
        assert_eq!(of("s", ""), None);
        assert_eq!(of("fee", "CHF, without tax").as_deref(), Some("CHF"));
        assert_eq!(of("wait", "in seconds or in minutes"), None);
        assert_eq!(of("limit", "Items in a page"), None);
    }
}
