//! Preconditions and postconditions: expressions in CEL, the Common Expression Language.
//!
//! CEL only loops over given collections and has no side effects. The cost of an expression is
//! bounded before it runs: it is estimated from the syntax tree and the sizes of the variables, and
//! an expression that may exceed [`MOST_STEPS`] is rejected. A condition that cannot be compiled or
//! evaluated does not hold.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::thread;

use cel::common::ast::{ComprehensionExpr, EntryExpr, Expr, LiteralValue};
use cel::objects::Key;
use cel::{Context, IdedExpr, Program};
use regex::Regex;
use serde_json::{Map, Value};
use toolroute_catalog::shortened;

/// Maximum number of characters in a message of a condition or of an error, which may quote a whole
/// value.
const SHOWN: usize = 160;

/// The maximum length of an expression, in characters.
const LONGEST: usize = 2_000;
/// The maximum nesting of brackets and choices, because the parser recurses.
const DEEPEST: usize = 24;
/// The stack of the parser's thread, in bytes. Recovering from a mistake, the parser recurses
/// deeper than the brackets: 2 MB, the usual stack of a thread, are too few without optimisation.
const PARSER_STACK: usize = 32 << 20;
/// The maximum nesting of comprehensions. Each level multiplies the work, including that of the
/// estimate.
const MOST_NESTED: usize = 4;
/// The maximum number of steps of an expression. A step takes about a tenth of a microsecond.
const MOST_STEPS: f64 = 5e6;

/// The variables of a condition.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The arguments of the call.
    pub inputs: &'a Value,
    /// The result of the call; `null` before it.
    pub outputs: &'a Value,
    /// `id`, `type` and `payload` of the obligation.
    pub obligation: &'a Value,
    /// The relevant facts: a list of objects with `kind`, `subject`, `value` and `source`.
    pub ledger: &'a Value,
}

impl Scene<'_> {
    fn variables(&self) -> [(&'static str, &Value); 4] {
        [
            ("inputs", self.inputs),
            ("outputs", self.outputs),
            ("obligation", self.obligation),
            ("ledger", self.ledger),
        ]
    }

    /// Returns `true` if the outputs or a fact of the kind `name` are `true`, which is what a bare
    /// name means.
    fn says(&self, name: &str) -> bool {
        let fact = |fact: &Value| fact["kind"] == name && fact["value"] == true;
        self.outputs.get(name) == Some(&Value::Bool(true))
            || self.ledger.as_array().is_some_and(|facts| facts.iter().any(fact))
    }
}

/// Checks that the condition holds.
///
/// # Errors
/// Returns the reason in one line if the condition does not hold.
pub fn check(condition: &str, scene: &Scene<'_>) -> Result<(), String> {
    let said = |why: String| format!("`{}`: {why}", shortened(condition, SHOWN));
    if let Some(name) = bare_name(condition) {
        let bare = || said("neither the outputs nor a fact say that it is true".to_owned());
        return scene.says(name).then_some(()).ok_or_else(bare);
    }
    let program = compile(condition).map_err(said)?;
    let variables = scene.variables();
    let sizes = variables.iter().map(|(name, value)| ((*name).to_owned(), size(value))).collect();
    let steps = Estimate { sizes, depth: 0 }.of(program.expression()).steps;
    if steps > MOST_STEPS {
        let why = format!("it may take {steps:.0} steps, and at most {MOST_STEPS:.0} are allowed");
        return Err(said(why));
    }
    let mut context = Context::default();
    for (name, value) in variables {
        context.add_variable_from_value(name, convert(value));
    }
    match program.execute(&context) {
        Ok(cel::Value::Bool(true)) => Ok(()),
        Ok(cel::Value::Bool(false)) => Err(said("it does not hold".to_owned())),
        Ok(other) => Err(said(format!("it is a {}, not true or false", other.type_of()))),
        Err(error) => Err(said(shortened(&error.to_string(), SHOWN))),
    }
}

/// Checks that a condition can be parsed.
///
/// # Errors
/// Why it cannot.
pub(super) fn check_syntax(condition: &str) -> Result<(), String> {
    match bare_name(condition) {
        Some(_) => Ok(()),
        None => compile(condition).map(drop),
    }
}

/// Returns `true` if a condition may depend on the facts of the ledger.
pub(super) fn asks_the_ledger(condition: &str) -> bool {
    condition.contains("ledger") || bare_name(condition).is_some()
}

/// Returns the condition if it is a bare name and not an expression.
pub(super) fn bare_name(condition: &str) -> Option<&str> {
    let name = condition.trim();
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_name = starts
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !["true", "false", "null"].contains(&name);
    is_name.then_some(name)
}

/// Returns the kind of the fact that a condition needs, and whether it must be `true`: a bare name, or an expression that
/// names one kind, such as `ledger.exists(f, f.kind == 'signed_in' && f.value == true)`.
pub(super) fn fact_of(condition: &str) -> Option<(&str, bool)> {
    static KIND: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"\.kind\s*==\s*(?:'([^']+)'|"([^"]+)")"#)
            .expect("the pattern is a constant that the tests compile. This is a bug.")
    });
    if let Some(name) = bare_name(condition) {
        return Some((name, true));
    }
    let mut kinds = KIND.captures_iter(condition);
    let kind = kinds.next()?;
    let kind = kind.get(1).or_else(|| kind.get(2))?.as_str();
    let is_true = condition.contains("value == true");
    kinds.next().is_none().then_some((kind, is_true))
}

fn compile(condition: &str) -> Result<Program, String> {
    let length = condition.chars().count();
    if length > LONGEST {
        return Err(format!("it has {length} characters, and at most {LONGEST} are allowed"));
    }
    // A bracket that closes another kind closes nothing for the parser, which stays as deep.
    let (mut open, mut choices) = (Vec::new(), 0);
    for c in condition.chars() {
        match c {
            '(' => open.push(')'),
            '[' => open.push(']'),
            '{' => open.push('}'),
            '?' => choices += 1,
            _ if open.last() == Some(&c) => drop(open.pop()),
            _ => {}
        }
        if open.len() + choices > DEEPEST {
            return Err(format!(
                "its brackets and choices (`?`) are nested more than {DEEPEST} deep"
            ));
        }
    }
    let parse = || Program::compile(condition);
    let program = thread::scope(|scope| {
        let parser = thread::Builder::new().stack_size(PARSER_STACK).spawn_scoped(scope, parse);
        parser.map_err(|error| format!("it cannot be parsed: {error}")).and_then(|parser| {
            parser.join().map_err(|_| "it is no CEL expression: the parser failed".to_owned())
        })
    })?;
    program.map_err(|errors| {
        let first = errors.errors.first().map_or_else(String::new, |error| error.msg.clone());
        format!(
            "it is no CEL expression: {}",
            shortened(first.lines().next().unwrap_or_default(), SHOWN)
        )
    })
}

/// Converts JSON to CEL. Whole numbers become `int`, so that `outputs.rows == 3` needs no suffix.
fn convert(value: &Value) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(flag) => cel::Value::Bool(*flag),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => cel::Value::Int(whole),
            (None, Some(large)) => cel::Value::UInt(large),
            _ => cel::Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => cel::Value::String(Arc::new(text.clone())),
        Value::Array(items) => cel::Value::List(Arc::new(items.iter().map(convert).collect())),
        Value::Object(fields) => {
            let fields: HashMap<Key, cel::Value> = fields
                .iter()
                .map(|(name, value)| (Key::String(Arc::new(name.clone())), convert(value)))
                .collect();
            cel::Value::Map(fields.into())
        }
    }
}

/// Returns the size of a value: the number of its elements, with ten bytes of text counted as one
/// element.
fn size(value: &Value) -> f64 {
    1.0 + match value {
        Value::String(text) => text.len() as f64 / 10.0,
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => members(fields),
        _ => 0.0,
    }
}

fn members(fields: &Map<String, Value>) -> f64 {
    fields.iter().map(|(name, value)| 1.0 + name.len() as f64 / 10.0 + size(value)).sum()
}

/// Estimates upper bounds of the cost and the result size of an expression.
struct Estimate {
    /// The sizes of the variables, including those of comprehensions.
    sizes: HashMap<String, f64>,
    /// The number of enclosing comprehensions.
    depth: usize,
}

#[derive(Clone, Copy)]
struct Cost {
    steps: f64,
    size: f64,
}

impl Estimate {
    fn of(&mut self, expression: &IdedExpr) -> Cost {
        match &expression.expr {
            Expr::Ident(name) => {
                Cost { steps: 1.0, size: self.sizes.get(name).copied().unwrap_or(1.0) }
            }
            // A member is never larger than the value that contains it.
            Expr::Select(select) => {
                let operand = self.of(&select.operand);
                Cost { steps: operand.steps + 1.0, ..operand }
            }
            Expr::Call(call) => {
                let parts = call.target.as_deref().into_iter().chain(&call.args);
                let parts: Vec<Cost> = parts.map(|part| self.of(part)).collect();
                let sum = total(parts.iter().copied());
                // The regular expression is tried at each character.
                let matching = if call.func_name == "matches" {
                    parts.iter().map(|part| 10.0 * part.size).product()
                } else {
                    0.0
                };
                let reading = if is_cheap(&call.func_name) { 0.0 } else { sum.size };
                Cost { steps: 1.0 + sum.steps + reading + matching, size: 1.0 + sum.size }
            }
            Expr::List(list) => total(list.elements.iter().map(|element| self.of(element))),
            Expr::Map(map) => self.entries(map.entries.iter().map(|entry| &entry.expr)),
            Expr::Struct(made) => self.entries(made.entries.iter().map(|entry| &entry.expr)),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Literal(LiteralValue::String(text)) => {
                Cost { steps: 1.0, size: 1.0 + text.inner().len() as f64 / 10.0 }
            }
            Expr::Literal(_) | Expr::Unspecified => Cost { steps: 1.0, size: 1.0 },
        }
    }

    fn entries<'e>(&mut self, entries: impl Iterator<Item = &'e EntryExpr>) -> Cost {
        let costs = entries.map(|entry| match entry {
            EntryExpr::StructField(field) => self.of(&field.value),
            EntryExpr::MapEntry(entry) => total([self.of(&entry.key), self.of(&entry.value)]),
        });
        let costs: Vec<Cost> = costs.collect();
        total(costs)
    }

    /// Estimates the cost of a comprehension. The elements of a range are together as large as the
    /// range. The cost of a round grows at least linearly with the size of its element, so the
    /// worst case is one element as large as the range, and all others as small as possible. The
    /// result grows by what each round adds.
    fn comprehension(&mut self, looped: &ComprehensionExpr) -> Cost {
        if self.depth == MOST_NESTED {
            return Cost { steps: f64::INFINITY, size: f64::INFINITY };
        }
        let (range, start) = (self.of(&looped.iter_range), self.of(&looped.accu_init));
        let outer = self.sizes.clone();
        self.depth += 1;
        let (whole, least) = (self.round(looped, range.size), self.round(looped, 1.0));
        let grown = start.size + whole.size + range.size * least.size;
        self.sizes.insert(looped.accu_var.clone(), grown);
        let result = self.of(&looped.result);
        (self.sizes, self.depth) = (outer, self.depth - 1);
        let steps = range.steps + start.steps + result.steps + whole.steps;
        Cost { steps: steps + range.size * least.steps, size: grown }
    }

    /// Estimates the cost of one round. The accumulator costs nothing, because it grows in place
    /// and an expression cannot name it.
    fn round(&mut self, looped: &ComprehensionExpr, element: f64) -> Cost {
        for variable in [Some(&looped.iter_var), looped.iter_var2.as_ref()].into_iter().flatten() {
            self.sizes.insert(variable.clone(), element);
        }
        self.sizes.insert(looped.accu_var.clone(), 0.0);
        total([self.of(&looped.loop_step), self.of(&looped.loop_cond)])
    }
}

/// Returns `true` for functions of constant cost.
fn is_cheap(function: &str) -> bool {
    matches!(function, "_[_]" | "_&&_" | "_||_" | "!_" | "_?_:_" | "size" | "@not_strictly_false")
}

fn total(costs: impl IntoIterator<Item = Cost>) -> Cost {
    costs.into_iter().fold(Cost { steps: 1.0, size: 1.0 }, |sum, cost| Cost {
        steps: sum.steps + cost.steps,
        size: sum.size + cost.size,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn holds(condition: &str, outputs: &Value) -> Result<(), String> {
        let ledger = json!([{"kind": "signed_in", "subject": {}, "value": true}]);
        let (inputs, obligation) = (json!({"expr": "6*7"}), json!({"type": "REPORT(query.math)"}));
        let scene = Scene { inputs: &inputs, outputs, obligation: &obligation, ledger: &ledger };
        check(condition, &scene)
    }

    #[test]
    fn the_fact_that_a_condition_needs_is_named() {
        for (condition, fact) in [
            ("signed_in", Some(("signed_in", true))),
            (
                "ledger.exists(f, f.kind == 'signed_in' && f.value == true)",
                Some(("signed_in", true)),
            ),
            (r#"ledger.exists(f, f.kind == "age" && f.value > 17)"#, Some(("age", false))),
            ("ledger.exists(f, f.kind == 'a') || ledger.exists(f, f.kind == 'b')", None),
            ("inputs.n > 3", None),
        ] {
            assert_eq!(fact_of(condition), fact, "{condition}");
        }
    }

    #[test]
    fn conditions_speak_of_inputs_outputs_and_the_ledger() {
        let outputs =
            json!({"result": 42, "share": 0.5, "rows": [{"n": 1}, {"n": 2}], "sent": true});
        for met in [
            "outputs.result == 42",
            "outputs.share > 0",
            "outputs.rows.size() == 2 && outputs.rows.all(row, row.n > 0)",
            "outputs.rows.map(row, row.n) == [1, 2]",
            "has(outputs.result) && !has(outputs.error)",
            "inputs.expr.matches('^[0-9*]+$')",
            "ledger.exists(fact, fact.kind == 'signed_in' && fact.value)",
            "obligation.type.startsWith('REPORT')",
            "signed_in",
            "sent",
            "true",
        ] {
            holds(met, &outputs).unwrap_or_else(|why| panic!("{met}: {why}"));
        }
        for (unmet, why) in [
            ("outputs.result == 43", "does not hold"),
            ("outputs.result", "not true or false"),
            ("outputs.missing > 1", "No such key"),
            ("outputs.result >", "no CEL expression"),
            ("file_written", "neither the outputs nor a fact"),
            ("system('ls')", "system"),
        ] {
            let said = holds(unmet, &outputs).unwrap_err();
            assert!(said.contains(why), "{unmet}: {said}");
        }
    }

    #[test]
    fn what_might_take_long_is_refused_before_it_runs() {
        let many = json!({"rows": vec![json!(1); 2_000]});
        holds("outputs.rows.all(a, a == 1)", &many).unwrap();
        let nested = "outputs.rows.all(a, outputs.rows.all(b, outputs.rows.all(c, a == b)))";
        let doubling = "outputs.rows.map(a, outputs.rows + outputs.rows).map(b, b + b).size() > 0";
        for slow in [nested, doubling] {
            let said = holds(slow, &many).unwrap_err();
            assert!(said.contains("steps"), "{slow}: {said}");
        }
        assert!(holds(&"(".repeat(10_000), &many).is_err());
        assert!(holds(&format!("{}true{}", "(".repeat(200), ")".repeat(200)), &many).is_err());
        assert!(holds(&"!".repeat(1_900), &many).is_err());
        assert!(holds(&"(]".repeat(60), &many).is_err());
        assert!(
            holds("1*{[(%? ({[=]0=|=[q?']2-.[? ]?]<4!.!y==s1]'y={k[? <[?&=z[!{[[{.<", &many)
                .is_err()
        );
        assert!(holds(&format!("{}true", "true ? true : ".repeat(60)), &many).is_err());
        assert!(holds(&format!("true{}", " || true".repeat(200)), &many).is_ok());
    }

    proptest! {
        #[test]
        fn no_text_panics_or_hangs(text in "[-a-z0-9(){}.,:?!&|<>=+*/%'\"\\[\\] ]{0,120}") {
            let _ = holds(&text, &json!({"rows": [1, "a", null, {"x": 2.5}]}));
        }

        #[test]
        fn arithmetic_ends_in_an_answer(a in any::<i64>(), b in any::<i64>(), op in "[-+*/%]") {
            let _ = holds(&format!("({a} {op} {b}) == 0"), &Value::Null);
        }
    }
}
