//! `POST /rerank`, in the formats of text-embeddings-inference (`texts`) and Cohere (`documents`).

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolroute_rank::engine::TextScore;
use utoipa::ToSchema;

use super::extract::Body;
use super::{ApiError, App, ErrorBody, json};

/// The limit of texts in a request. Each text is embedded.
const MOST_TEXTS: usize = 1_000;

/// One of `texts` and `documents`; the answer has the form of the one that was chosen.
#[derive(Deserialize, ToSchema)]
pub struct RerankBody {
    #[schema(min_length = 1, pattern = r"\S")]
    #[serde(alias = "prompt")]
    query: String,
    /// As text-embeddings-inference has it.
    #[schema(min_items = 1, max_items = 1000)]
    texts: Option<Vec<String>>,
    /// As Cohere has it: texts, or objects with a member `text`.
    #[schema(min_items = 1, max_items = 1000, value_type = Option<Vec<Object>>)]
    documents: Option<Vec<Value>>,
    /// The blend as it is, instead of one within 0 to 1 (`texts`).
    #[serde(default)]
    raw_scores: bool,
    /// Whether the answer repeats the texts (`texts`).
    #[serde(default)]
    return_text: bool,
    /// Documents in the answer at most (`documents`).
    #[schema(minimum = 0)]
    top_n: Option<usize>,
    /// Whether the answer repeats the documents (`documents`).
    #[serde(default)]
    return_documents: bool,
}

#[derive(Serialize, ToSchema)]
pub struct TextRank {
    index: usize,
    score: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    text: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum RerankAnswer {
    Texts(Vec<TextRank>),
    Documents {
        id: String,
        #[schema(value_type = Vec<Object>)]
        results: Vec<Value>,
        #[schema(value_type = Object)]
        meta: Value,
    },
}

/// Texts by how well they answer a query: meaning and words, blended as for tools.
#[utoipa::path(post, path = "/v1/rerank", tag = "drop-in", request_body = RerankBody, responses(
    (status = 200, body = RerankAnswer), (status = 400, body = ErrorBody), (status = 408, body = ErrorBody),
    (status = 413, body = ErrorBody), (status = 415, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub async fn rerank(
    State(app): State<Arc<App>>,
    Body(asked): Body<RerankBody>,
) -> Result<Response, ApiError> {
    let (texts, cohere) = match (asked.texts, asked.documents) {
        (Some(texts), None) => (texts, false),
        (None, Some(documents)) => {
            (documents.into_iter().map(text_of).collect::<Result<_, _>>()?, true)
        }
        _ => return Err(ApiError::bad_request("expected either `texts` or `documents`")),
    };
    if texts.is_empty() || texts.len() > MOST_TEXTS {
        let said = format!("expected 1 to {MOST_TEXTS} texts, found {}", texts.len());
        return Err(ApiError::bad_request(said));
    }
    let (service, query) = (app.service(), asked.query);
    let ranking = app.work(move || {
        let given: Vec<&str> = texts.iter().map(String::as_str).collect();
        let ranked = service.engine().rank_texts(&query, &given);
        ranked.map(|ranked| (ranked, texts))
    });
    let (ranked, texts) = ranking.await??;
    let with_text = |found: &TextScore, wanted: bool| wanted.then(|| texts[found.index].clone());
    if !cohere {
        let ranks = ranked.iter().map(|found| TextRank {
            index: found.index,
            score: if asked.raw_scores { found.score } else { found.score.clamp(0.0, 1.0) },
            text: with_text(found, asked.return_text),
        });
        return Ok(json(RerankAnswer::Texts(ranks.collect())));
    }
    let results = ranked.iter().take(asked.top_n.unwrap_or(usize::MAX)).map(|found| {
        let mut result = json!({
            "index": found.index,
            "relevance_score": found.score.clamp(0.0, 1.0),
        });
        if let Some(text) = with_text(found, asked.return_documents) {
            result["document"] = json!({ "text": text });
        }
        result
    });
    let results = results.collect();
    let meta = json!({"api_version": {"version": "2"}, "billed_units": {"search_units": 0}});
    Ok(json(RerankAnswer::Documents { id: id(), results, meta }))
}

/// An id for Cohere's clients, unique within one run of the program.
fn id() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(1);
    format!("rerank-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

fn text_of(document: Value) -> Result<String, ApiError> {
    let text = match document {
        Value::String(text) => Some(text),
        Value::Object(mut members) => match members.remove("text") {
            Some(Value::String(text)) => Some(text),
            _ => None,
        },
        _ => None,
    };
    let said = "expected each of `documents` as a text, or an object with a member `text`";
    text.ok_or_else(|| ApiError::bad_request(said))
}
