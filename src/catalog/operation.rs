//! How a tool that is an HTTP operation is sent: what an OpenAPI import must not forget.

use serde::{Deserialize, Serialize};

/// Where in a request an argument goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// In the place of `{name}` in the path.
    Path,
    Query,
    Header,
    /// A member of the JSON object that is the body, or a field of the form.
    Member,
    /// The body itself.
    Body,
}

/// One argument of an operation. In rows of before, a name may stand in two places; the value
/// then goes to both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationArgument {
    pub name: String,
    #[serde(rename = "in")]
    pub place: Place,
    /// A list in a query as `a=1,2` instead of `a=1&a=2`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub joined: bool,
    /// Its name in the request, where another argument has that name here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_as: Option<String>,
}

impl OperationArgument {
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
    /// Whether it is what an HTML form sends.
    pub fn is_form(&self) -> bool {
        let essence = self.media_type.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded")
    }
}

/// An HTTP operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// In capitals.
    pub method: String,
    /// The path with its `{names}`, below the server's address.
    pub path: String,
    /// The server's address as the description gives it; may be relative, or not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<OperationArgument>,
    /// What the body is; JSON where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<OperationBody>,
}
