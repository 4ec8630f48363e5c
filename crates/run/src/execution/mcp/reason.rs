//! Descriptions of connection failures that are safe to show: they quote nothing from the server.

/// Patterns in the errors of the system and of libraries, with their descriptions.
const KNOWN: [(&str, &str); 9] = [
    ("Connection refused", "nothing listens at its address"),
    ("dns error", "its host is not known"),
    ("failed to lookup address", "its host is not known"),
    ("certificate", "its certificate is not trusted"),
    ("Auth required", "it asks for a login or a token"),
    ("HTTP 401", "it asks for a login or a token"),
    ("HTTP 403", "it refuses the credentials"),
    ("HTTP 404", "there is no MCP server at its address"),
    ("connection closed", "it ended before it answered"),
];

/// Returns the description of a failed start, by its error text.
pub(super) fn of(said: &str) -> Option<String> {
    // The text after this marker is the server's own output.
    let ours = said.split("; it said: ").next().unwrap_or(said);
    let known = KNOWN.iter().find(|(words, _)| ours.contains(words));
    known.map(|(_, told)| format!("cannot be reached: {told}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_ours_alone() {
        let refused =
            "no handshake: Client error: tcp connect error: Connection refused (os error 111)";
        assert_eq!(of(refused).unwrap(), "cannot be reached: nothing listens at its address");
        let said = "no handshake: connection closed: initialize; it said: certificate of HTTP 404";
        assert_eq!(of(said).unwrap(), "cannot be reached: it ended before it answered");
        assert_eq!(of("no handshake: odd; it said: Connection refused"), None);
    }
}
