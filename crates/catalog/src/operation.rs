//! How to call a tool that is an HTTP operation, according to its OpenAPI description.

use serde::{Deserialize, Serialize};

/// The place of an argument in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// In the path, in place of `{name}`.
    Path,
    Query,
    Header,
    /// A member of the JSON object that is the body, or a field of the form.
    Member,
    Body,
}

/// One argument of an operation. In catalogs of earlier versions, a name may have two places; the
/// value is then sent in both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationArgument {
    /// The name of the argument.
    pub name: String,
    /// Where it goes.
    #[serde(rename = "in")]
    pub place: Place,
    /// Whether a list in a query is sent as `a=1,2` instead of `a=1&a=2`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub joined: bool,
    /// Whether an object in a query is sent as `a[b]=1&a[c]=2`, OpenAPI's style `deepObject`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deep: bool,
    /// The media type of a file in a multipart body. The argument is the file in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The name in the request, if it differs from `name` because two arguments share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_as: Option<String>,
}

impl OperationArgument {
    /// Creates an argument that is sent under its own name, in the usual way for its place.
    pub fn new(name: impl Into<String>, place: Place) -> Self {
        let name = name.into();
        Self { name, place, joined: false, deep: false, file: None, sent_as: None }
    }

    /// Returns the name in the request.
    pub fn sent_name(&self) -> &str {
        self.sent_as.as_deref().unwrap_or(&self.name)
    }
}

/// A body that is not JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationBody {
    /// The media type, such as `application/json`.
    pub media_type: String,
    /// Whether a request without a body is invalid.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
}

impl OperationBody {
    /// Returns `true` if the body is an HTML form.
    pub fn is_form(&self) -> bool {
        self.is("application/x-www-form-urlencoded")
    }

    /// Returns `true` if the body is a form with parts, which may be files.
    pub fn is_multipart(&self) -> bool {
        self.is("multipart/form-data")
    }

    fn is(&self, kind: &str) -> bool {
        let essence = self.media_type.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case(kind)
    }
}

impl Operation {
    /// Returns `true` if the body can be sent: there is none, or it is JSON, a form, or has known
    /// parts.
    pub fn is_body_known(&self) -> bool {
        let has_parts = self.arguments.iter().any(|argument| argument.place == Place::Member);
        let is_known = |body: &OperationBody| body.is_form() || body.is_multipart() && has_parts;
        self.body.as_ref().is_none_or(is_known)
    }
}

/// An HTTP operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// The HTTP method in capitals.
    pub method: String,
    /// The path with its `{names}`, relative to the server's address.
    pub path: String,
    /// The server's address as the description states it; may be relative or absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Where each argument goes in the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<OperationArgument>,
    /// The body, if it is not JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<OperationBody>,
}
