//! Requests of known methods whose parameters do not fit.
//!
//! rmcp reads such a request as one of an unknown method, and would answer that there is none.

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, ClientRequest, CompleteRequestParams, CustomRequest, ErrorCode,
    GetPromptRequestParams, InitializeRequestParams, JsonRpcMessage, ReadResourceRequestParams,
    ServerJsonRpcMessage, SubscribeRequestParams, UnsubscribeRequestParams,
};
use rmcp::service::{RoleServer, RxJsonRpcMessage};
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolroute_catalog::{shortened, type_fault};

/// The answer to a request that rmcp could not assign to a method.
pub(super) fn refusal(request: &CustomRequest) -> ErrorData {
    let method = &request.method;
    match fault(request) {
        Some(fault) => {
            ErrorData::invalid_params(format!("the params of {method} do not fit: {fault}"), None)
        }
        None => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("no method `{method}`"), None),
    }
}

/// The answer to an `initialize` that cannot be read. rmcp would take it for any other request that
/// comes too early, and advise to initialize first.
pub(super) fn refused_handshake(
    message: &RxJsonRpcMessage<RoleServer>,
) -> Option<ServerJsonRpcMessage> {
    let JsonRpcMessage::Request(request) = message else { return None };
    let ClientRequest::CustomRequest(custom) = &request.request else { return None };
    (custom.method == "initialize")
        .then(|| ServerJsonRpcMessage::error(refusal(custom), Some(request.id.clone())))
}

/// The answer to a body that is no JSON-RPC message, with its id if that can be read.
pub(super) fn refused_body(body: &[u8]) -> ServerJsonRpcMessage {
    const EXPECTED: &str =
        r#"expected one message such as {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}"#;
    match serde_json::from_slice::<Value>(body) {
        Err(error) => {
            let said = format!("the body is not JSON: {error}; {EXPECTED}");
            ServerJsonRpcMessage::error(ErrorData::parse_error(said, None), None)
        }
        Ok(found) => {
            let id = serde_json::from_value(found["id"].clone()).ok();
            let said = format!("{EXPECTED}, found {}", shortened(&found.to_string(), 80));
            ServerJsonRpcMessage::error(ErrorData::invalid_request(said, None), id)
        }
    }
}

/// What is wrong with the parameters; `None` if the method is unknown.
fn fault(request: &CustomRequest) -> Option<String> {
    match request.method.as_str() {
        "initialize" => Some(fault_as::<InitializeRequestParams>(request)),
        "tools/call" => Some(fault_as::<CallToolRequestParams>(request)),
        "prompts/get" => Some(fault_as::<GetPromptRequestParams>(request)),
        "resources/read" => Some(fault_as::<ReadResourceRequestParams>(request)),
        "resources/subscribe" => Some(fault_as::<SubscribeRequestParams>(request)),
        "resources/unsubscribe" => Some(fault_as::<UnsubscribeRequestParams>(request)),
        "completion/complete" => Some(fault_as::<CompleteRequestParams>(request)),
        _ => None,
    }
}

fn fault_as<T: DeserializeOwned>(request: &CustomRequest) -> String {
    match request.params_as::<T>() {
        Ok(None) => "expected an object, found none".to_owned(),
        Ok(Some(_)) => "expected other members".to_owned(),
        Err(error) => type_fault(&error.to_string()),
    }
}
