//! How a tool that is an HTTP operation is sent, as its OpenAPI description says.

use serde::{Deserialize, Serialize};

/// Where in a request an argument goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// Instead of `{name}` in the path.
    Path,
    Query,
    Header,
    /// A member of the JSON object that is the body, or a field of the form.
    Member,
    /// The body itself.
    Body,
}

/// One argument of an operation. In catalogs of earlier versions a name may have two places; the value
/// then goes to both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationArgument {
    pub name: String,
    #[serde(rename = "in")]
    pub place: Place,
    /// A list in a query as `a=1,2` instead of `a=1&a=2`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub joined: bool,
    /// An object in a query as `a[b]=1&a[c]=2`: OpenAPI's style `deepObject`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deep: bool,
    /// The media type of a file in a multipart body; the argument is the file in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its name in the request, where that differs from `name` because two arguments share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_as: Option<String>,
}

impl OperationArgument {
    /// An argument that is sent under its own name in the usual way for its place.
    pub fn new(name: impl Into<String>, place: Place) -> Self {
        let name = name.into();
        Self { name, place, joined: false, deep: false, file: None, sent_as: None }
    }

    /// Its name in the request.
    pub fn sent_name(&self) -> &str {
        self.sent_as.as_deref().unwrap_or(&self.name)
    }
}

/// A body that is not JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationBody {
    pub media_type: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
}

impl OperationBody {
    /// Whether it is an HTML form.
    pub fn is_form(&self) -> bool {
        self.is("application/x-www-form-urlencoded")
    }

    /// Whether it is a form with parts, which may be files.
    pub fn is_multipart(&self) -> bool {
        self.is("multipart/form-data")
    }

    fn is(&self, kind: &str) -> bool {
        let essence = self.media_type.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case(kind)
    }
}

impl Operation {
    /// Whether its body can be sent: it has none, or is JSON, a form, or parts that are known.
    pub fn is_body_known(&self) -> bool {
        let has_parts = self.arguments.iter().any(|argument| argument.place == Place::Member);
        let is_known = |body: &OperationBody| body.is_form() || body.is_multipart() && has_parts;
        self.body.as_ref().is_none_or(is_known)
    }
}

/// An HTTP operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// In capitals.
    pub method: String,
    /// The path with its `{names}`, below the server's address.
    pub path: String,
    /// The server's address as the description gives it; may be relative or absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<OperationArgument>,
    /// The body, where it is not JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<OperationBody>,
}
