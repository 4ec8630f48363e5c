//! HTTP operations imported from an OpenAPI description.
//!
//! A catalog is untrusted, so it does not decide where requests go: a server is called only if the
//! servers file has an entry for it, and only at that entry's `url` if there is one.

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, StatusCode, Url};
use serde_json::Value;

use super::address::Reach;
use super::client;
use super::error::Error;
use super::invoker::{Arguments, Call, Fault, FaultKind, Invoker, Output, Pending};
use super::servers::Remote;
use toolroute_catalog::{Operation, OperationArgument, Place};

mod body;
mod multipart;

const MOST_BODY: usize = 64 << 20;

/// The header by which APIs recognize a repeated request (a draft of the HTTP API working group).
const KEY: &str = "idempotency-key";

/// Headers that arguments must not set: they authenticate the client or frame the request.
const RESERVED: &str =
    "authorization connection content-length cookie host proxy-authorization transfer-encoding";

/// The operations of one API.
pub struct HttpOperations {
    remote: Remote,
    client: reqwest::Client,
}

impl HttpOperations {
    /// # Errors
    /// The entry's URL or a header is not allowed, or the system has no certificates.
    pub fn new(remote: Remote) -> Result<Self, Error> {
        Ok(Self { client: client::for_remote(&remote)?, remote })
    }

    async fn send(&self, call: Call<'_>) -> Result<Output, Fault> {
        let Some(operation) = &call.tool.operation else {
            let said = "the catalog does not say how it is sent; import the API description anew";
            return Err(Fault::before(FaultKind::Missing, said));
        };
        let mut request = self.request(operation, call.arguments)?;
        if let Some(key) = call.key {
            request = request.header(KEY, key);
        }
        let response = request.send().await.map_err(|error| of_error(&error))?;
        let status = response.status();
        let body = answered(response).await?;
        answer(status, &body)
    }

    fn request(
        &self,
        operation: &Operation,
        arguments: &Arguments,
    ) -> Result<reqwest::RequestBuilder, Fault> {
        let refused = |said: String| Fault::before(FaultKind::Refused, said);
        let method = Method::from_bytes(operation.method.as_bytes());
        let method =
            method.map_err(|_| refused(format!("`{}` is no HTTP method", operation.method)))?;
        let url = self.url(operation, arguments).map_err(refused)?;
        let mut request = self.client.request(method, url);
        for (argument, value) in given(operation, arguments) {
            match argument.place {
                Place::Header if is_reserved(argument.sent_name()) => {
                    return Err(refused(format!(
                        "header `{}` is not an argument's",
                        argument.name
                    )));
                }
                Place::Header => {
                    let name = argument.sent_name();
                    let value = HeaderValue::try_from(plain(value)).map_err(|_| {
                        refused(format!(
                            "argument `{}` is sent as a header, which takes no control characters such as line ends",
                            argument.name
                        ))
                    })?;
                    let name = HeaderName::try_from(name)
                        .map_err(|_| refused(format!("`{name}` is no name of a header")))?;
                    request = request.header(name, value);
                }
                Place::Path | Place::Query | Place::Member | Place::Body => {}
            }
        }
        body::add(request, operation, arguments).map_err(refused)
    }

    fn url(&self, operation: &Operation, arguments: &Arguments) -> Result<Url, String> {
        let base = Some(&self.remote.url).filter(|url| !url.is_empty());
        let base = base.or(operation.server.as_ref()).ok_or("no address; write a `url`")?;
        let mut url = Url::parse(base).map_err(|error| format!("address `{base}`: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("address `{base}` is not http or https"));
        }
        client::check(&url, Reach::of(&self.remote))?;
        {
            let mut segments = url.path_segments_mut().map_err(|()| "an address without path")?;
            segments.pop_if_empty();
        }
        let base = url.clone();
        for part in operation.path.split('/').filter(|part| !part.is_empty()) {
            let filled = filled(part, operation, arguments)?;
            push(&mut url, &filled, part)?;
        }
        // `/items/` and `/items` are different addresses.
        if operation.path.ends_with('/') {
            push(&mut url, "", "/")?;
        }
        if !is_below(&base, &url) {
            return Err(format!("the path `{}` leads out of the API's own", operation.path));
        }
        for (argument, value) in given(operation, arguments) {
            if argument.place == Place::Query {
                add_pairs(&mut url, argument, value);
            }
        }
        Ok(url)
    }
}

/// Adds one segment to the path. `template` is the segment in the description of the API.
fn push(url: &mut Url, part: &str, template: &str) -> Result<(), String> {
    let refused = |why: &str| {
        let part: String = part.chars().take(40).collect();
        Err(format!(
            "`{template}` in the path would become {part:?}, which {why}; expected an id or a name"
        ))
    };
    // A URL parser removes tabs and line ends, which could produce `..`.
    if part.chars().any(char::is_control) {
        return refused("has a control character");
    }
    // Slashes in the argument are escaped, but some servers decode them.
    if part.split(['/', '\\']).any(|piece| matches!(piece, "." | "..")) {
        return refused("leads to another path");
    }
    let before = url.path().len();
    url.path_segments_mut().map_err(|()| "an address without path")?.push(part);
    // The path must have grown by exactly one segment.
    let added = url.path().get(before..).unwrap_or_default();
    let is_one = added.matches('/').count() <= 1 && (url.path().len() > before || before <= 1);
    if is_one { Ok(()) } else { refused("is not one part of a path") }
}

/// Whether `url`, as a server will parse it, is below `base`.
fn is_below(base: &Url, url: &Url) -> bool {
    let Ok(read) = Url::parse(url.as_str()) else { return false };
    let root = base.path().trim_end_matches('/');
    let rest = read.path().strip_prefix(root);
    base.origin() == read.origin()
        && (base.username(), base.password()) == (read.username(), read.password())
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_reserved(name: &str) -> bool {
    RESERVED.split(' ').any(|reserved| reserved.eq_ignore_ascii_case(name))
}

/// The arguments that were given for the operation, once for each place that takes them.
fn given<'a>(
    operation: &'a Operation,
    arguments: &'a Arguments,
) -> impl Iterator<Item = (&'a OperationArgument, &'a Value)> {
    let value =
        move |argument: &'a OperationArgument| Some((argument, arguments.get(&argument.name)?));
    operation.arguments.iter().filter_map(value).filter(|(_, value)| !value.is_null())
}

/// A segment of the path with its `{names}` filled in.
fn filled(part: &str, operation: &Operation, arguments: &Arguments) -> Result<String, String> {
    let mut filled = part.to_owned();
    for (argument, value) in given(operation, arguments) {
        let slot = format!("{{{}}}", argument.sent_name());
        if argument.place == Place::Path && filled.contains(&slot) {
            let value = plain(value);
            if value.is_empty() {
                let name = &argument.name;
                return Err(format!("`{name}` is a part of the path and is empty; give a value"));
            }
            filled = filled.replace(&slot, &value);
        }
    }
    if filled == part && part.contains('{') {
        return Err(format!("`{part}` in the path has no value; give one"));
    }
    Ok(filled)
}

/// Adds an argument to the query in OpenAPI's default style `form`: a list becomes one pair for
/// each element, or one value joined by commas if it is not exploded.
fn add_pairs(url: &mut Url, argument: &OperationArgument, value: &Value) {
    if argument.deep && value.is_object() {
        return add_deep(url, argument.sent_name(), value, 0);
    }
    let mut query = url.query_pairs_mut();
    match value {
        Value::Array(items) if !argument.joined => {
            for item in items {
                query.append_pair(argument.sent_name(), &plain(item));
            }
        }
        value => {
            query.append_pair(argument.sent_name(), &plain(value));
        }
    }
}

/// Adds an argument to the query in OpenAPI's style `deepObject`: `a[b]=1&a[c][d]=2`. OpenAPI does
/// not define nested lists and objects. They are written as most servers read them, with lists as
/// repeated pairs.
fn add_deep(url: &mut Url, name: &str, value: &Value, depth: usize) {
    const DEEPEST: usize = 8;
    match value {
        Value::Object(members) if depth < DEEPEST => {
            for (member, value) in members.iter().filter(|(_, value)| !value.is_null()) {
                add_deep(url, &format!("{name}[{member}]"), value, depth + 1);
            }
        }
        Value::Array(items) if depth < DEEPEST => {
            items.iter().for_each(|item| add_deep(url, name, item, depth + 1));
        }
        value => _ = url.query_pairs_mut().append_pair(name, &plain(value)),
    }
}

/// Formats a value for a path, a query or a header.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        value => value.to_string(),
    }
}

fn of_error(error: &reqwest::Error) -> Fault {
    // The address may contain a key.
    let said = error.to_string();
    let said = error.url().map_or(said.clone(), |url| said.replace(url.as_str(), "the address"));
    if error.is_timeout() {
        Fault::after(FaultKind::Timeout, said)
    } else if error.is_builder() {
        // Arguments may make the address too long.
        Fault::before(FaultKind::Refused, format!("shorten the arguments; no request: {said}"))
    } else if error.is_connect() {
        Fault::before(FaultKind::Unreachable, said)
    } else {
        Fault::after(FaultKind::Broken, said)
    }
}

async fn answered(mut response: reqwest::Response) -> Result<Vec<u8>, Fault> {
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.map_err(|error| of_error(&error))? {
        body.extend_from_slice(&part);
        if body.len() > MOST_BODY {
            return Err(Fault::after(FaultKind::TooLong, "more output than is taken"));
        }
    }
    Ok(body)
}

/// Converts a response: 429 and 5xx are faults, other error statuses are answers.
fn answer(status: StatusCode, body: &[u8]) -> Result<Output, Fault> {
    let text = String::from_utf8_lossy(body);
    let shown: String = text.chars().take(2_000).collect();
    match status.as_u16() {
        429 | 502..=504 => return Err(Fault::after(FaultKind::Busy, format!("{status} {shown}"))),
        500.. => return Err(Fault::after(FaultKind::ServerError, format!("{status} {shown}"))),
        _ => {}
    }
    let mut output = match serde_json::from_str::<Value>(&text) {
        Ok(value) => Output { text: text.into_owned(), ..Output::data(value) },
        Err(_) => Output::text(text),
    };
    if !status.is_success() {
        output.is_error = true;
        output.text = format!("{status} {}", output.text);
    }
    Ok(output)
}

impl Invoker for HttpOperations {
    fn invoke<'a>(&'a self, call: Call<'a>) -> Pending<'a, Result<Output, Fault>> {
        Box::pin(self.send(call))
    }

    fn lists_tools(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use toolroute_catalog::OperationBody;

    fn operation() -> Operation {
        let at = |name: &str, place, joined| OperationArgument {
            joined,
            ..OperationArgument::new(name, place)
        };
        Operation {
            method: "POST".to_owned(),
            path: "/pets/{id}/notes".to_owned(),
            server: Some("https://described.example/v1".to_owned()),
            arguments: vec![
                at("id", Place::Path, false),
                at("tag", Place::Query, false),
                at("fields", Place::Query, true),
                at("X-Trace", Place::Header, false),
                at("text", Place::Member, false),
            ],
            body: None,
        }
    }

    /// The same operation at a path without arguments, with a body of this media type.
    fn with_body(media_type: &str, required: bool) -> Operation {
        let body = Some(OperationBody { media_type: media_type.to_owned(), required });
        Operation { path: "/notes".to_owned(), body, ..operation() }
    }

    fn sent(operation: &Operation, arguments: Value) -> Result<reqwest::Request, Fault> {
        let remote = Remote { url: "http://127.0.0.1:9/api/".to_owned(), ..Remote::default() };
        let api = HttpOperations::new(remote).unwrap();
        Ok(api.request(operation, arguments.as_object().unwrap())?.build().unwrap())
    }

    #[test]
    fn every_argument_goes_to_its_place_at_the_address_of_the_entry() {
        let given =
            json!({"id": "a/b c", "tag": ["x", "y"], "fields": [1, 2], "X-Trace": 7, "text": "hi"});
        let request = sent(&operation(), given).unwrap();
        assert_eq!(
            request.url().as_str(),
            "http://127.0.0.1:9/api/pets/a%2Fb%20c/notes?tag=x&tag=y&fields=1%2C2"
        );
        assert_eq!(request.headers()["x-trace"], "7");
        assert_eq!(request.body().unwrap().as_bytes().unwrap(), br#"{"text":"hi"}"#);
    }

    #[test]
    fn a_header_with_a_line_end_is_refused_before_anything_is_sent() {
        let fault = sent(&operation(), json!({"id": "1", "X-Trace": "a\nX-Admin: 1"})).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Refused);
        assert!(fault.detail.contains("`X-Trace`"), "{}", fault.detail);
    }

    #[tokio::test]
    async fn arguments_that_make_the_address_too_long_are_refused() {
        let long = format!("http://127.0.0.1:9/?tag={}", "x".repeat(70_000));
        let fault = of_error(&reqwest::Client::new().get(long).send().await.unwrap_err());
        assert_eq!((fault.kind, fault.reached), (FaultKind::Refused, false), "{fault:.200}");
    }

    #[test]
    fn an_address_that_a_description_names_must_be_public() {
        let mut described = operation();
        described.server = Some("http://169.254.169.254/latest".to_owned());
        let call = |remote: Remote| {
            let api = HttpOperations::new(remote).unwrap();
            let arguments = json!({"id": "1"}).as_object().unwrap().clone();
            api.request(&described, &arguments).map(drop)
        };
        let fault = call(Remote::default()).unwrap_err();
        assert!(!fault.reached && fault.detail.contains("allowPrivate"), "{fault:?}");
        assert!(call(Remote { allow_private: Some(true), ..Remote::default() }).is_ok());
        let refused = Remote {
            url: "http://[::1]:1/".into(),
            allow_private: Some(false),
            ..Remote::default()
        };
        assert!(HttpOperations::new(refused).is_err());
    }

    #[test]
    fn an_argument_goes_by_its_name_in_the_request() {
        let mut operation = operation();
        for (name, place) in [("tag_header", Place::Header), ("id_member", Place::Member)] {
            let sent_as = name.split_once('_').map(|(sent, _)| sent.to_owned());
            let argument = OperationArgument::new(name, place);
            operation.arguments.push(OperationArgument { sent_as, ..argument });
        }
        let given = json!({"id": 1, "tag": "q", "tag_header": "h", "id_member": 2});
        let request = sent(&operation, given).unwrap();
        assert_eq!(request.url().query(), Some("tag=q"));
        assert_eq!(request.headers()["tag"], "h");
        assert_eq!(request.body().unwrap().as_bytes().unwrap(), br#"{"id":2}"#);
    }

    #[test]
    fn a_slash_at_the_end_stays() {
        let to = |path: &str| {
            let operation = Operation { path: path.to_owned(), ..operation() };
            sent(&operation, json!({"id": 1})).unwrap().url().path().to_owned()
        };
        assert_eq!(to("/items/"), "/api/items/");
        assert_eq!(to("/items/{id}/"), "/api/items/1/");
        assert_eq!((to("/items"), to("/")), ("/api/items".to_owned(), "/api/".to_owned()));
    }

    #[test]
    fn an_argument_cannot_leave_the_path() {
        let hidden = [".\t.", "\t..", "\n..", "..\r", "a\0b", "\u{7f}..", ".\n", "\t", "\u{85}.."];
        for id in ["..", ".", "", "../..", "..\\..", "a/../b", "a/."].into_iter().chain(hidden) {
            assert!(!sent(&operation(), json!({"id": id})).unwrap_err().reached, "{id:?}");
        }
        for id in ["%2e%2e", "..%2f..", "...", "a/b", "?x", "#y", "..;/", "\u{2025}"] {
            let request = sent(&operation(), json!({"id": id})).unwrap();
            let path = request.url().path();
            assert!(path.starts_with("/api/pets/") && path.ends_with("/notes"), "{id}: {path}");
            assert_eq!(path.matches('/').count(), 4, "{id}: {path}");
        }
        assert!(sent(&operation(), json!({})).is_err());
    }

    /// The content type and the body that are sent to an operation with a body of this media type.
    fn body_of(media_type: &str, required: bool, arguments: Value) -> Result<[String; 2], Fault> {
        let mut operation = with_body(media_type, required);
        operation.arguments.push(OperationArgument::new("to", Place::Member));
        let cc = OperationArgument::new("cc", Place::Member);
        operation.arguments.push(OperationArgument { joined: true, ..cc });
        let request = sent(&operation, arguments)?;
        let kind = request.headers().get("content-type").map(|kind| kind.to_str().unwrap());
        let body = request.body().map(|body| body.as_bytes().unwrap().to_vec());
        let body = String::from_utf8(body.unwrap_or_default()).unwrap();
        Ok([kind.unwrap_or_default().to_owned(), body])
    }

    #[test]
    fn a_form_goes_out_as_a_form() {
        let form = "application/x-www-form-urlencoded";
        let sent = |arguments| body_of(form, true, arguments).unwrap();
        let given = json!({"text": "a b&c=é", "to": [1, "x"], "cc": ["y", "z"], "tag": "no"});
        assert_eq!(sent(given), [form, "text=a+b%26c%3D%C3%A9&to=1&to=x&cc=y%2Cz"]);
        assert_eq!(sent(json!({"text": {"a": [1]}}))[1], "text=%7B%22a%22%3A%5B1%5D%7D");
        assert_eq!(sent(json!({})), [form, ""], "an empty form where one is required");
        assert_eq!(body_of(form, false, json!({})).unwrap(), ["", ""]);
    }

    #[test]
    fn a_form_may_be_one_argument() {
        let form = with_body("application/x-www-form-urlencoded; charset=utf-8", true);
        let arguments = vec![OperationArgument::new("body", Place::Body)];
        let operation = Operation { arguments, ..form };
        let request = sent(&operation, json!({"body": {"a": [1, 2], "b": null}})).unwrap();
        assert_eq!(request.body().unwrap().as_bytes().unwrap(), b"a=1&a=2");
        assert!(sent(&operation, json!({"body": [1]})).is_err());
        assert!(sent(&operation, json!({})).is_err());
    }

    #[test]
    fn a_call_without_the_body_that_it_needs_is_refused() {
        for kind in ["multipart/form-data", "application/octet-stream"] {
            let fault = body_of(kind, true, json!({})).unwrap_err();
            assert!(!fault.reached && fault.kind == FaultKind::Refused, "{fault}");
            assert!(fault.detail.contains(kind), "{fault}");
            assert_eq!(body_of(kind, false, json!({})).unwrap(), ["", ""]);
        }
        let form = with_body("multipart/form-data", true);
        let operation = Operation { arguments: Vec::new(), ..form };
        let fault = sent(&operation, json!({"text": "x"})).unwrap_err();
        assert!(fault.detail.contains("only JSON, forms and named parts"), "{fault}");
    }

    #[test]
    fn parts_go_out_as_parts() {
        let given = json!({"text": "a b", "to": [1, 2], "tag": "no"});
        let [kind, body] = body_of("multipart/form-data", true, given).unwrap();
        assert!(kind.starts_with("multipart/form-data; boundary=toolroute-"), "{kind}");
        assert_eq!(body.matches("name=\"to\"").count(), 2, "{body}");
        assert!(body.contains("name=\"text\"\r\n\r\na b\r\n") && !body.contains("tag"), "{body}");
    }

    #[test]
    fn a_deep_object_is_written_with_brackets() {
        let filter = OperationArgument::new("filter", Place::Query);
        let arguments = vec![OperationArgument { deep: true, ..filter }];
        let operation = Operation { path: "/notes".to_owned(), arguments, ..operation() };
        let query = |filter: Value| {
            let request = sent(&operation, json!({"filter": filter})).unwrap();
            let pairs = request.url().query_pairs().map(|(name, value)| format!("{name}={value}"));
            pairs.collect::<Vec<_>>().join("&")
        };
        let filter = json!({"name": "a&b", "age": {"gt": 3}, "tags": ["x", "y"], "none": null});
        assert_eq!(
            query(filter),
            "filter[name]=a&b&filter[age][gt]=3&filter[tags]=x&filter[tags]=y"
        );
        assert_eq!(query(json!("plain")), "filter=plain");
    }
}
