//! Obligations that the conductor discharges itself if no tool does: questions to the user,
//! searches for similar tools, reasons and checks.

use serde_json::{Value, json};

use super::facts::FactQuery;
use super::inputs::InputContext;
use super::json::{canonical, contradict, shown};
use super::ledger::{Change, NewAssertion, ObligationRow, Origin, Purpose, Standing};
use super::lineage::Lineage;
use super::obligation::{Duty, ObligationType, Status};
use super::plan::{settle, why_not};
use super::{Conductor, Error};
use toolroute_catalog::{Tool, covers};
use toolroute_rank::engine::SelectRequest;
use toolroute_rank::query::says_nothing;

/// The maximum number of similar tools that are listed.
const NEAR: usize = 5;

impl Conductor<'_> {
    pub(super) fn answer_ourselves(&mut self, obligation: &ObligationRow) -> Result<(), Error> {
        let found = match obligation.what.duty {
            Duty::Clarify | Duty::Report => {
                let question = self.question(obligation);
                let asked = settle(obligation, Status::Escalated, Some(question));
                return self.ledger.commit(obligation.request, &[asked]);
            }
            Duty::DiscoverOp => Ok(self.near(obligation)?),
            Duty::Justify => self.reasons(obligation)?,
            Duty::Verify => match self.waits_for(obligation)? {
                Some(note) => {
                    let waits = settle(obligation, Status::Escalated, Some(note));
                    return self.ledger.commit(obligation.request, &[waits]);
                }
                None => self.checked(obligation)?,
            },
        };
        let changes = match found {
            Ok(output) => {
                let said = self.said(obligation, output);
                vec![said, settle(obligation, Status::Resolved, None)]
            }
            Err(why) => vec![settle(obligation, Status::Failed, Some(why))],
        };
        self.ledger.commit(obligation.request, &changes)
    }

    fn said(&self, obligation: &ObligationRow, value: Value) -> Change {
        Change::Assert(NewAssertion {
            obligation: Some(obligation.id),
            origin: Origin::Conductor,
            source: "the conductor".to_owned(),
            run: None,
            kind: obligation.what.to_string(),
            subject: Value::Object(obligation.payload.clone()),
            value,
            standing: Standing::Held,
            because: None,
        })
    }

    /// Returns the question with the name to answer it under. The question of a report already
    /// contains the name.
    fn question(&self, obligation: &ObligationRow) -> String {
        let ObligationRow { name, what, payload, .. } = obligation;
        let question = match payload.get("question").and_then(Value::as_str) {
            Some(question) if payload.contains_key("of") => return question.to_owned(),
            Some(question) => question.to_owned(),
            None if payload.is_empty() => match &what.kind {
                Some(kind) => format!("please say more: {kind}"),
                None => "please say more".to_owned(),
            },
            None => format!("please say more: {}", shown(&json!(payload))),
        };
        format!("{question} (answer as `{name}`)")
    }

    /// Lists the most similar tools, and what each lacks.
    fn near(&mut self, obligation: &ObligationRow) -> Result<Value, Error> {
        let wanted = obligation.payload.get("for").and_then(Value::as_str);
        let wanted: Option<ObligationType> = wanted.and_then(|text| text.parse().ok());
        let wanted = wanted
            .or_else(|| Some(ObligationType::new(Duty::Report, obligation.what.kind.as_deref()?)));
        let prompt = self.prompt(obligation)?;
        let found = self.engine.select(&SelectRequest::new(&prompt).limit(NEAR))?;
        let tools = found.tools.iter().map(|near| (near.tool.id.as_str(), near.score));
        let left_out = found.excluded.iter().map(|near| (near.id.as_str(), near.score));
        let mut near = Vec::new();
        for (id, score) in tools.chain(left_out).take(NEAR) {
            let Some(tool) = self.engine.catalog().get(id).cloned() else { continue };
            let lacks = self.lacks(obligation, &tool, wanted.as_ref())?;
            near.push(json!({"tool": id, "score": rounded(score), "lacks": lacks}));
        }
        let told = near.iter().map(|tool| {
            let lacks: Vec<&str> =
                tool["lacks"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let lacks = lacks.join(" and ");
            let id = tool["tool"].as_str().unwrap_or_default();
            if lacks.is_empty() { format!("`{id}`") } else { format!("`{id}`, which {lacks}") }
        });
        let told: Vec<String> = told.collect();
        let text = if told.is_empty() {
            "no tool of the catalog comes near".to_owned()
        } else {
            format!("nearest are {}", told.join("; "))
        };
        Ok(json!({"near": near, "confidence": found.confidence.map(rounded), "text": text}))
    }

    /// Returns the prompt for the router: the given words, or those of the obligation.
    fn prompt(&self, obligation: &ObligationRow) -> Result<String, Error> {
        if let Some(want) = obligation.payload.get("want").and_then(Value::as_str)
            && !says_nothing(want)
        {
            return Ok(want.to_owned());
        }
        let request = self.ledger.request(obligation.request)?;
        let about = self.of(obligation)?.unwrap_or_else(|| obligation.clone());
        let mut words: Vec<String> = request.utterance.into_iter().collect();
        words.extend(about.what.kind.iter().map(|kind| kind.replace(['.', '_', '-'], " ")));
        words.extend(about.payload.values().filter_map(Value::as_str).map(str::to_owned));
        Ok(words.join(" "))
    }

    fn lacks(
        &self,
        obligation: &ObligationRow,
        tool: &Tool,
        wanted: Option<&ObligationType>,
    ) -> Result<Vec<String>, Error> {
        let mut lacks = Vec::new();
        let asked = wanted.map(ToString::to_string).unwrap_or_default();
        let declares = tool.satisfies.iter().any(|declared| covers(declared, &asked));
        if let Some(wanted) = wanted.filter(|_| !declares) {
            lacks.push(format!("does not declare that it satisfies {wanted}"));
        }
        if let Err(because) =
            self.engine.config().policy.admit(tool, self.engine.observed().tool(tool.id.as_str()))
        {
            lacks.push(format!("is kept out by the policy: {because}"));
        }
        let about = self.of(obligation)?.unwrap_or_else(|| obligation.clone());
        if let Err(lack) = InputContext::new(self.ledger, &about, self.scope).arguments(tool)? {
            lacks.push(lack.message());
        }
        Ok(lacks)
    }

    /// Returns the latest continuation of the obligation that `of` in the payload names.
    fn of(&self, obligation: &ObligationRow) -> Result<Option<ObligationRow>, Error> {
        let Some(name) = obligation.payload.get("of").and_then(Value::as_str) else {
            return Ok(None);
        };
        match self.ledger.obligation(obligation.request, name)? {
            Some(found) if found.status == Status::Escalated => {
                let lineage = Lineage::read(self.ledger, obligation.request)?;
                Ok(Some(lineage.latest(&found).clone()))
            }
            found => Ok(found),
        }
    }

    /// Returns why a check cannot be made yet: its obligation waits for a reply or for a tool.
    fn waits_for(&self, obligation: &ObligationRow) -> Result<Option<String>, Error> {
        let Some(of) = self.of(obligation)?.filter(|of| of.status == Status::Escalated) else {
            return Ok(None);
        };
        let lineage = Lineage::read(self.ledger, obligation.request)?;
        Ok(lineage.is_open(&of).then(|| format!("it waits for `{}`", of.name)))
    }

    /// Returns the recorded reasons for the outcome of an obligation.
    fn reasons(&mut self, obligation: &ObligationRow) -> Result<Result<Value, String>, Error> {
        if let Some(because) = obligation.payload.get("because").and_then(Value::as_str) {
            return Ok(Ok(json!({"reasons": [because], "text": because})));
        }
        let Some(of) = self.of(obligation)? else {
            let why = "it does not say of what; expected `of` with the id of an obligation";
            return Ok(Err(why.to_owned()));
        };
        let mut reasons = Vec::new();
        if let Some(result) = self.ledger.result(of.id)? {
            let (subject, value) = (shown(&result.subject), shown(&result.value));
            reasons.push(format!("`{}` said {value} of {subject}", result.source));
        } else {
            let runs = self.ledger.runs_for(of.id, Purpose::Plan)?;
            reasons.extend(runs.iter().map(why_not));
            reasons.extend(of.note.filter(|_| runs.is_empty()));
        }
        if reasons.is_empty() {
            reasons.push(format!("`{}` is {}", of.name, of.status));
        }
        let text = reasons.join("; ");
        Ok(Ok(json!({"of": of.name, "reasons": reasons, "text": text})))
    }

    /// Checks an obligation's result, or a claim of `kind`, `subject` and `value`.
    fn checked(&mut self, obligation: &ObligationRow) -> Result<Result<Value, String>, Error> {
        if let Some(of) = self.of(obligation)? {
            let result = self.ledger.result(of.id)?;
            if let Some(result) = result.filter(|result| result.standing == Standing::Held)
                && of.what.duty == Duty::Report
            {
                self.verify(obligation.request, &result)?;
            }
            let Some(result) = self.ledger.result(of.id)? else {
                return Ok(Err(format!("`{}` came to nothing that could be checked", of.name)));
            };
            let holds = result.standing != Standing::Disputed;
            let text = match result.because {
                Some(because) => because,
                None => format!("`{}` is {:?}", of.name, result.standing).to_lowercase(),
            };
            return Ok(Ok(json!({"of": of.name, "holds": holds, "text": text})));
        }
        self.claim(obligation)
    }

    fn claim(&self, obligation: &ObligationRow) -> Result<Result<Value, String>, Error> {
        let payload = &obligation.payload;
        let (Some(Value::String(kind)), Some(value)) = (payload.get("kind"), payload.get("value"))
        else {
            let why = "it does not say what to check; expected `of` with the id of an earlier \
                       obligation, or `kind` and `value`";
            return Ok(Err(why.to_owned()));
        };
        let subject = payload.get("subject").cloned().unwrap_or_else(|| json!({}));
        let (request, scope, subject) = (obligation.request, self.scope, canonical(&subject));
        let (kind, subject) = (Some(kind.as_str()), Some(subject.as_str()));
        let facts = self.ledger.facts(&FactQuery { request, scope, kind, subject })?;
        let against = facts.iter().find(|fact| contradict(&fact.value, value));
        let (holds, text) = match (against, facts.first()) {
            (Some(fact), _) => {
                let (known, claimed) = (shown(&fact.value), shown(value));
                (false, format!("{} says {known}, not {claimed}", fact.source))
            }
            (None, Some(fact)) => (true, format!("{} says so", fact.source)),
            (None, None) => (false, "nothing in the ledger says so".to_owned()),
        };
        Ok(Ok(json!({"holds": holds, "text": text})))
    }
}

/// Rounds a score to four decimal places, so that writing and reading it does not change it.
fn rounded(score: f32) -> f64 {
    (f64::from(score) * 1e4).round() / 1e4
}
