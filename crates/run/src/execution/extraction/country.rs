//! The codes of countries, and the regions that follow the name of a city.

/// The alpha-2 codes of ISO 3166-1, each with a usual English name of the country. `XK` is not
/// assigned by the standard, but used for Kosovo by the EU and by carriers.
const COUNTRIES: &str = "\
    AD Andorra|AE United Arab Emirates|AE UAE|AF Afghanistan|AG Antigua and Barbuda|AI Anguilla|\
    AL Albania|AM Armenia|AO Angola|AR Argentina|AT Austria|AU Australia|AW Aruba|AZ Azerbaijan|\
    BA Bosnia and Herzegovina|BB Barbados|BD Bangladesh|BE Belgium|BF Burkina Faso|BG Bulgaria|\
    BH Bahrain|BI Burundi|BJ Benin|BM Bermuda|BN Brunei|BO Bolivia|BR Brazil|BS Bahamas|\
    BT Bhutan|BW Botswana|BY Belarus|BZ Belize|CA Canada|CF Central African Republic|\
    CH Switzerland|CI Ivory Coast|CI Côte d'Ivoire|CK Cook Islands|CL Chile|CM Cameroon|\
    CN China|CO Colombia|CR Costa Rica|CU Cuba|CV Cape Verde|CV Cabo Verde|CW Curaçao|CY Cyprus|\
    CZ Czechia|CZ Czech Republic|DE Germany|DJ Djibouti|DK Denmark|DM Dominica|\
    DO Dominican Republic|DZ Algeria|EC Ecuador|EE Estonia|EG Egypt|ER Eritrea|ES Spain|\
    ET Ethiopia|FI Finland|FJ Fiji|FO Faroe Islands|FR France|GA Gabon|GB United Kingdom|\
    GB Great Britain|GB UK|GD Grenada|GE Georgia|GH Ghana|GI Gibraltar|GL Greenland|GM Gambia|\
    GN Guinea|GQ Equatorial Guinea|GR Greece|GT Guatemala|GW Guinea-Bissau|GY Guyana|\
    HK Hong Kong|HN Honduras|HR Croatia|HT Haiti|HU Hungary|ID Indonesia|IE Ireland|IL Israel|\
    IN India|IQ Iraq|IR Iran|IS Iceland|IT Italy|JM Jamaica|JO Jordan|JP Japan|KE Kenya|\
    KG Kyrgyzstan|KH Cambodia|KI Kiribati|KM Comoros|KP North Korea|KR South Korea|KW Kuwait|\
    KY Cayman Islands|KZ Kazakhstan|LA Laos|LB Lebanon|LC Saint Lucia|LI Liechtenstein|\
    LK Sri Lanka|LR Liberia|LS Lesotho|LT Lithuania|LU Luxembourg|LV Latvia|LY Libya|MA Morocco|\
    MC Monaco|MD Moldova|ME Montenegro|MG Madagascar|MH Marshall Islands|MK North Macedonia|\
    ML Mali|MM Myanmar|MN Mongolia|MO Macao|MR Mauritania|MT Malta|MU Mauritius|MV Maldives|\
    MW Malawi|MX Mexico|MY Malaysia|MZ Mozambique|NA Namibia|NE Niger|NG Nigeria|NI Nicaragua|\
    NL Netherlands|NL Holland|NO Norway|NP Nepal|NR Nauru|NZ New Zealand|OM Oman|PA Panama|\
    PE Peru|PG Papua New Guinea|PH Philippines|PK Pakistan|PL Poland|PR Puerto Rico|\
    PS Palestine|PT Portugal|PW Palau|PY Paraguay|QA Qatar|RO Romania|RS Serbia|RU Russia|\
    RW Rwanda|SA Saudi Arabia|SB Solomon Islands|SC Seychelles|SD Sudan|SE Sweden|SG Singapore|\
    SI Slovenia|SK Slovakia|SL Sierra Leone|SM San Marino|SN Senegal|SO Somalia|SR Suriname|\
    SS South Sudan|SV El Salvador|SY Syria|SZ Eswatini|TD Chad|TG Togo|TH Thailand|\
    TJ Tajikistan|TL Timor-Leste|TM Turkmenistan|TN Tunisia|TO Tonga|TR Turkey|TR Türkiye|\
    TT Trinidad and Tobago|TV Tuvalu|TW Taiwan|TZ Tanzania|UA Ukraine|UG Uganda|\
    US United States|US USA|US United States of America|UY Uruguay|UZ Uzbekistan|\
    VA Vatican City|VC Saint Vincent and the Grenadines|VE Venezuela|VN Vietnam|VU Vanuatu|\
    WS Samoa|XK Kosovo|YE Yemen|ZA South Africa|ZM Zambia|ZW Zimbabwe";

/// Returns the code that a name or a code stands for.
pub(super) fn code(said: &str) -> Option<&'static str> {
    let said = said.strip_prefix("the ").unwrap_or(said);
    let mut countries = COUNTRIES.split('|').filter_map(|country| country.split_once(' '));
    let is_meant = |(code, name): &(&str, &str)| *code == said || name.eq_ignore_ascii_case(said);
    countries.find(is_meant).map(|(code, _)| code)
}

/// The states of the USA and the provinces of Canada, and parts of the United Kingdom.
const REGIONS: &str = "Alabama|Alaska|Arizona|Arkansas|California|Colorado|Connecticut|Delaware|Florida|Georgia|\
    Hawaii|Idaho|Illinois|Indiana|Iowa|Kansas|Kentucky|Louisiana|Maine|Maryland|Massachusetts|Michigan|\
    Minnesota|Mississippi|Missouri|Montana|Nebraska|Nevada|New Hampshire|New Jersey|New Mexico|New York|\
    North Carolina|North Dakota|Ohio|Oklahoma|Oregon|Pennsylvania|Rhode Island|South Carolina|\
    South Dakota|Tennessee|Texas|Utah|Vermont|Virginia|Washington|West Virginia|Wisconsin|Wyoming|\
    Alberta|British Columbia|Manitoba|New Brunswick|Nova Scotia|Ontario|Quebec|Saskatchewan|England|\
    Scotland|Wales|Northern Ireland";

/// Whether a name is that of a country or of a region, so that it says where the place before it is:
/// "Paris, France", "Denver, Colorado", "Austin, TX".
pub(super) fn is_region(said: &str) -> bool {
    let said = &*said.replace('.', "");
    let is_short = said.len() == 2 && said.bytes().all(|byte| byte.is_ascii_uppercase());
    is_short || code(said).is_some() || REGIONS.split('|').any(|region| region == said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_country_is_known_by_its_name_and_its_code() {
        for (said, expected) in [
            ("Switzerland", Some("CH")),
            ("the Netherlands", Some("NL")),
            ("UK", Some("GB")),
            ("ZW", Some("ZW")),
            ("Antigua and Barbuda", Some("AG")),
            ("Berlin", None),
            ("in", None),
        ] {
            assert_eq!(code(said), expected, "{said}");
        }
    }
}
