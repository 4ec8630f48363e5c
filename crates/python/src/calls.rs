//! Checks calls of tools that Python itself runs, as a server's are checked.

use std::borrow::Cow;

use pyo3::prelude::*;
use serde_json::value::to_raw_value;
use serde_json::{Value, to_string};
use toolroute::Tool;
use toolroute_catalog::Schema;
use toolroute_run::execution::{Change, Parameters, Permissions, Verdict};

use crate::connection::arguments;
use crate::error::{ArgumentError, CallError, ConfirmationNeeded};

/// What a call of a router without servers is checked against.
#[derive(Default)]
pub struct CallChecks {
    permissions: Permissions,
    parameters: Parameters,
}

impl CallChecks {
    pub fn new(permissions: Permissions) -> Self {
        Self { permissions, parameters: Parameters::default() }
    }

    /// Checks that a tool may run. `confirmed` states whether a person agreed.
    pub fn confirm(&self, tool: &Tool, confirmed: bool) -> PyResult<()> {
        let id = &tool.id;
        match self.permissions.judge(tool, confirmed) {
            Verdict::Allowed => Ok(()),
            Verdict::NeedsConfirmation => Err(ConfirmationNeeded::new_err(format!(
                "`{id}` may change or delete something; it runs once a person agrees: call again \
                 with `confirmed=True`"
            ))),
            verdict => Err(CallError::new_err(format!("`{id}` {}", verdict.reason()))),
        }
    }

    /// Adapts arguments to the tool's schema. Returns them as JSON without the schema's defaults,
    /// which the function has itself. `apart` names arguments that JSON cannot express: they are
    /// given, and are not checked here.
    pub fn prepare(&self, tool: &Tool, given: &str, apart: &[String]) -> PyResult<String> {
        let given = arguments(given)?;
        let tool = match apart {
            [] => Cow::Borrowed(tool),
            _ => Cow::Owned(without(tool, apart)),
        };
        let admitted = self.parameters.admit(&tool, &given);
        admitted.map_err(|refused| CallError::new_err(format!("`{}`: {refused}", tool.id)))?;
        let prepared = self.parameters.prepare(&tool, &given).map_err(|clarification| {
            let said = format!("`{}` cannot be called yet: {clarification}", tool.id);
            ArgumentError::new_err(said)
        })?;
        let mut arguments = prepared.arguments;
        for change in &prepared.changes {
            if let Change::Default { name, .. } = change {
                arguments.shift_remove(name);
            }
        }
        to_string(&arguments).map_err(|error| CallError::new_err(error.to_string()))
    }
}

/// The tool without some of its parameters.
fn without(tool: &Tool, names: &[String]) -> Tool {
    let mut tool = tool.clone();
    let schema = tool.input_schema.as_ref().and_then(Schema::to_value);
    let Some(mut schema) = schema else { return tool };
    let is_named = |name: &str| names.iter().any(|other| other == name);
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|name, _| !is_named(name));
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !name.as_str().is_some_and(is_named));
    }
    tool.routing.parameter_hints.required.retain(|name| !is_named(name));
    tool.input_schema = to_raw_value(&schema).ok().map(Schema::new);
    tool
}
