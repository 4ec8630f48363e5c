//! Questions that a server asks the user while a call runs (`elicitation/create` of MCP).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use toolroute_catalog::{shortened, visible};

use super::invoker::Pending;
use super::timing::{LONGEST_REQUEST, extended_timeout};

/// The most questions that servers may ask the user during one call: as many as the SDKs answer of a
/// server that asks by its results (`DEFAULT_MRTR_MAX_ROUNDS` of rmcp).
const MOST_QUESTIONS: usize = 10;

/// The most characters of a question's message, as of the text of an error; the rest is cut.
const MOST_MESSAGE_CHARS: usize = 2_000;

/// The most bytes of a form's schema, which cannot be cut. Ten fields with texts take about 2 kB.
const MOST_SCHEMA_BYTES: usize = 16 << 10;

/// The most bytes of an address, as browsers and servers take. Those of logins have up to 2 kB.
const MOST_URL_BYTES: usize = 8 << 10;

/// A server's question to the user.
#[derive(Clone, Debug, PartialEq)]
pub struct Elicitation {
    pub server: String,
    /// The parameters of `elicitation/create`, within bounds. The message names the server.
    pub params: Map<String, Value>,
}

impl Elicitation {
    /// Reads the parameters that a server sent.
    ///
    /// # Errors
    /// Why the question is not put to anybody.
    pub(super) fn read(server: &str, mut sent: Value) -> Result<Self, String> {
        let mut params = Map::new();
        let mode = match &sent["mode"] {
            Value::Null => None,
            mode if mode == "form" => Some("form"),
            mode if mode == "url" => Some("url"),
            _ => return Err("its mode is unknown".to_owned()),
        };
        params.extend(mode.map(|mode| ("mode".to_owned(), json!(mode))));
        let said = visible(sent["message"].as_str().unwrap_or_default());
        let message = shortened(said.trim(), MOST_MESSAGE_CHARS);
        params
            .insert("message".to_owned(), json!(format!("The server `{server}` asks: {message}")));
        if mode == Some("url") {
            let url = sent["url"].as_str().unwrap_or_default();
            check_url(url)?;
            params.insert("url".to_owned(), json!(url));
            let id = sent["elicitationId"].as_str().unwrap_or_default();
            if id.len() > MOST_URL_BYTES {
                return Err(format!("its id has more than {MOST_URL_BYTES} bytes"));
            }
            params.insert("elicitationId".to_owned(), json!(id));
        } else {
            let schema = sent.get_mut("requestedSchema").map(Value::take).unwrap_or_default();
            if !schema.is_object() {
                return Err("it has no form that is an object".to_owned());
            }
            if schema.to_string().len() > MOST_SCHEMA_BYTES {
                return Err(format!("its form has more than {MOST_SCHEMA_BYTES} bytes"));
            }
            params.insert("requestedSchema".to_owned(), schema);
        }
        Ok(Self { server: server.to_owned(), params })
    }

    /// Whether the user is sent to an address instead of being shown a form.
    pub fn has_url(&self) -> bool {
        self.params.contains_key("url")
    }
}

/// Checks that a browser would open the address as a page: not a file, a script or a program.
fn check_url(url: &str) -> Result<(), String> {
    let is_web = ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme));
    if !is_web || url.len() > MOST_URL_BYTES || !url.chars().all(|c| c.is_ascii_graphic()) {
        return Err(format!(
            "its address is no https:// or http:// address of at most {MOST_URL_BYTES} characters"
        ));
    }
    Ok(())
}

/// The answer in the name of nobody.
pub(super) fn cancelled() -> Value {
    json!({ "action": "cancel" })
}

/// Puts a question to the user and returns the result of `elicitation/create`, or why nobody can be
/// asked. Dropping the future withdraws the question.
type Ask = dyn Fn(Elicitation) -> Pending<'static, Result<Value, String>> + Send + Sync;

/// The user behind a call, whom a server may ask while the call runs.
#[derive(Clone)]
pub struct User {
    /// Identifies the client that the user has.
    client: usize,
    ask: Arc<Ask>,
    log: Arc<Mutex<Log>>,
}

/// The questions of one call.
#[derive(Default)]
struct Log {
    asked: usize,
    open: usize,
    /// When the latest one was answered.
    closed: Option<Instant>,
    /// How long questions were open.
    took: Duration,
    /// What was not put to the user, and why.
    unasked: Vec<String>,
}

impl User {
    /// A user for one call. `client` is the same for each call of the same client while it is
    /// connected, and of no other.
    pub fn new(
        client: usize,
        ask: impl Fn(Elicitation) -> Pending<'static, Result<Value, String>> + Send + Sync + 'static,
    ) -> Self {
        Self { client, ask: Arc::new(ask), log: Arc::default() }
    }

    /// A user who cannot be asked.
    pub(super) fn nobody() -> Self {
        // A client of its own for each call, so that a question is told to the call that it belongs to.
        static CLIENTS: AtomicUsize = AtomicUsize::new(usize::MAX);
        let client = CLIENTS.fetch_sub(1, Ordering::Relaxed);
        Self::new(client, |_| Box::pin(async { Err("nobody can be asked here".to_owned()) }))
    }

    /// What the agent should know of questions that were not put to the user.
    pub fn unasked(&self) -> Vec<String> {
        self.log().unasked.clone()
    }

    /// Waits for the work, not counting the time in which a question is open. Returns `None` after
    /// `limit`.
    pub async fn within<T>(
        user: Option<&Self>,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let deadline = Instant::now() + limit.max(LONGEST_REQUEST);
        let asked = || user.and_then(Self::latest);
        extended_timeout((limit, deadline), asked, work).await
    }

    /// Whether a question is open.
    pub fn is_asked(&self) -> bool {
        self.log().open > 0
    }

    pub(super) fn is_of_client_of(&self, other: &Self) -> bool {
        self.client == other.client
    }

    /// When a question was last open: now, if one is.
    pub(super) fn latest(&self) -> Option<Instant> {
        let log = self.log();
        if log.open > 0 { Some(Instant::now()) } else { log.closed }
    }

    /// How long questions have been open so far, which is no time of the tool.
    pub(super) fn took(&self) -> Duration {
        self.log().took
    }

    /// Asks, and answers `cancel` if nobody can be asked.
    pub(super) async fn ask(&self, question: Elicitation) -> Value {
        let server = question.server.clone();
        let open = {
            let mut log = self.log();
            log.asked += 1;
            if log.asked > MOST_QUESTIONS {
                drop(log);
                self.note(&server, &format!("it asked {MOST_QUESTIONS} times before"));
                return cancelled();
            }
            log.open += 1;
            Open { user: self, since: Instant::now() }
        };
        let answered = (self.ask)(question).await;
        drop(open);
        answered.unwrap_or_else(|because| {
            self.note(&server, &because);
            cancelled()
        })
    }

    /// Records a question that was not put to the user. A server that asks without end is recorded
    /// once for each reason.
    pub(super) fn note(&self, server: &str, because: &str) {
        let said = format!(
            "the server `{server}` asked the user a question, and got the answer \"cancel\": {because}"
        );
        let mut log = self.log();
        if !log.unasked.contains(&said) && log.unasked.len() < MOST_QUESTIONS {
            tracing::info!(server, because, "a question is not put to the user");
            log.unasked.push(said);
        }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that is open until this is dropped.
struct Open<'a> {
    user: &'a User,
    since: Instant,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let mut log = self.user.log();
        log.open -= 1;
        log.took += self.since.elapsed();
        log.closed = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_bounded_and_says_who_asks() {
        let schema = json!({"type": "object", "properties": {"n": {"pattern": "x", "odd": [1]}}});
        let sent = json!({"message": "a\u{200b}\u{1b}[2Jb", "requestedSchema": schema, "x": 1});
        let params = Elicitation::read("notes", sent).unwrap().params;
        let wanted = json!({"message": "The server `notes` asks: ab", "requestedSchema": schema});
        assert_eq!(json!(params), wanted);
        let long = json!({"message": "m".repeat(9_000), "requestedSchema": {}});
        let message = Elicitation::read("notes", long).unwrap().params["message"].to_string();
        assert!(message.len() < 2_100 && message.ends_with("m…\""), "{}", message.len());
        let form =
            |schema| Elicitation::read("s", json!({"message": "", "requestedSchema": schema}));
        assert!(form(json!({"description": "d".repeat(20_000)})).is_err());
        assert!(form(json!([])).is_err() && form(json!(null)).is_err());
    }

    #[test]
    fn only_forms_and_addresses_are_asked_for() {
        let mode = |mode: Value| {
            let sent = json!({"mode": mode, "message": "", "requestedSchema": {}});
            Elicitation::read("s", sent).map(|read| read.params.get("mode").cloned())
        };
        assert_eq!(mode(json!("form")), Ok(Some(json!("form"))));
        assert_eq!(mode(Value::Null), Ok(None));
        for odd in [json!("Form"), json!("x".repeat(9_000)), json!(1), json!(["url"])] {
            assert_eq!(mode(odd), Err("its mode is unknown".to_owned()));
        }
        for odd in [json!([]), json!("form"), json!(null)] {
            assert!(Elicitation::read("s", odd).is_err());
        }
    }

    #[test]
    fn an_address_is_one_of_the_web() {
        let asked = |url: &str| {
            Elicitation::read("s", json!({"mode": "url", "url": url, "elicitationId": "1"}))
        };
        assert!(asked("https://example.com/login?x=1").unwrap().has_url());
        let long = format!("https://{}", "a".repeat(9_000));
        for url in
            ["", "file:///etc/passwd", "javascript:alert(1)", "https://a b", "https://ä", &long]
        {
            assert!(asked(url).is_err(), "{url}");
        }
    }

    #[tokio::test]
    async fn time_does_not_run_while_a_question_is_open() {
        const LIMIT: Duration = Duration::from_millis(100);
        let slow = |_| -> Pending<'static, Result<Value, String>> {
            Box::pin(async {
                tokio::time::sleep(LIMIT * 5).await;
                Ok(cancelled())
            })
        };
        let user = User::new(1, slow);
        let question = Elicitation { server: "s".to_owned(), params: Map::new() };
        let asking = User::within(Some(&user), LIMIT, user.ask(question));
        assert_eq!(asking.await, Some(cancelled()));
        assert!(user.took() >= LIMIT * 5);
        let silent = std::future::pending::<()>();
        assert!(User::within(Some(&user), LIMIT, silent).await.is_none());
    }

    #[tokio::test]
    async fn of_many_questions_the_first_are_asked() {
        let user = User::new(1, |_| Box::pin(async { Ok(json!({"action": "decline"})) }));
        for nth in 0..20 {
            let question = Elicitation { server: "s".to_owned(), params: Map::new() };
            let action = user.ask(question).await["action"].clone();
            assert_eq!(action == "decline", nth < MOST_QUESTIONS, "{nth}");
        }
        assert_eq!(user.unasked().len(), 1);
    }
}
