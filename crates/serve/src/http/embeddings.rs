//! `POST /v1/embeddings` and `GET /v1/models`, in OpenAI's format.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolroute_rank::engine::{Role, TextVectors};
use utoipa::ToSchema;

use super::extract::Body;
use super::{ApiError, App, ErrorBody, json};

/// The limit of texts in a request, as in OpenAI's API.
const MOST_TEXTS: usize = 2_048;

#[derive(Deserialize, ToSchema)]
pub struct EmbeddingsBody {
    /// A text or texts; lists of tokens are refused, because tokens are of a model.
    #[schema(value_type = Object)]
    input: Value,
    /// Any name: the server has one model, and the answer names it.
    #[serde(default)]
    #[allow(dead_code, reason = "clients must send one, and it changes nothing")]
    model: Option<String>,
    #[serde(default)]
    encoding_format: Encoding,
    /// What the model gives, or nothing: vectors are not cut.
    #[schema(minimum = 1)]
    dimensions: Option<usize>,
    /// Which side of a search the texts stand on; a few models tell them apart.
    #[serde(default)]
    input_type: InputType,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    #[default]
    Float,
    /// Little-endian 32-bit floats.
    Base64,
}

#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum InputType {
    #[default]
    Document,
    Query,
}

#[derive(Serialize, ToSchema)]
pub struct EmbeddingsAnswer {
    object: &'static str,
    data: Vec<Embedding>,
    model: String,
    usage: Usage,
}

#[derive(Serialize, ToSchema)]
struct Embedding {
    object: &'static str,
    index: usize,
    embedding: Vector,
}

#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum Vector {
    Floats(Vec<f32>),
    Base64(String),
}

#[derive(Serialize, ToSchema)]
struct Usage {
    /// Tokens that were read: a text is cut at the model's window.
    prompt_tokens: usize,
    total_tokens: usize,
}

#[derive(Serialize, ToSchema)]
pub struct ModelsAnswer {
    object: &'static str,
    data: Vec<ListedModel>,
}

#[derive(Serialize, ToSchema)]
struct ListedModel {
    id: String,
    object: &'static str,
    /// Always 0: a model's files do not say when it was made, and OpenAI's clients expect a number.
    created: u64,
    owned_by: &'static str,
}

/// The model of this server for `/v1/embeddings`; no model if it ranks by words alone.
#[utoipa::path(get, path = "/v1/models", tag = "drop-in", responses((status = 200, body = ModelsAnswer)))]
pub async fn models(State(app): State<Arc<App>>) -> Response {
    let service = app.service();
    let listed = service.engine().embedder().map(|model| ListedModel {
        id: model.identity().name.clone(),
        object: "model",
        created: 0,
        owned_by: "toolroute",
    });
    json(ModelsAnswer { object: "list", data: listed.into_iter().collect() })
}

/// Vectors of texts by the model of this server.
#[utoipa::path(post, path = "/v1/embeddings", tag = "drop-in", request_body = EmbeddingsBody, responses(
    (status = 200, body = EmbeddingsAnswer), (status = 400, body = ErrorBody),
    (status = 409, description = "there is no model", body = ErrorBody), (status = 408, body = ErrorBody),
    (status = 413, body = ErrorBody), (status = 415, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub async fn embed(
    State(app): State<Arc<App>>,
    Body(asked): Body<EmbeddingsBody>,
) -> Result<Response, ApiError> {
    let texts = texts(asked.input)?;
    let service = app.service();
    let Some(model) = service.engine().embedder() else {
        return Err(ApiError::not_configured("this server ranks by words alone; it has no model"));
    };
    if let Some(asked) = asked.dimensions.filter(|asked| *asked != model.identity().dimension) {
        let said =
            format!("expected `dimensions` of {}, found {asked}", model.identity().dimension);
        return Err(ApiError::bad_request(said));
    }
    let role = match asked.input_type {
        InputType::Document => Role::Document,
        InputType::Query => Role::Query,
    };
    let embedding = app.work(move || {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        service.engine().embed_texts(&texts, role)
    });
    let TextVectors { vectors, tokens } = embedding.await??;
    let shaped = |vector: Vec<f32>| match asked.encoding_format {
        Encoding::Float => Vector::Floats(vector),
        Encoding::Base64 => {
            let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
            Vector::Base64(STANDARD.encode(bytes))
        }
    };
    let data = vectors.into_iter().enumerate().map(|(index, vector)| Embedding {
        object: "embedding",
        index,
        embedding: shaped(vector),
    });
    Ok(json(EmbeddingsAnswer {
        object: "list",
        data: data.collect(),
        model: model.identity().name.clone(),
        usage: Usage { prompt_tokens: tokens, total_tokens: tokens },
    }))
}

fn texts(input: Value) -> Result<Vec<String>, ApiError> {
    let bad = |said: &str| Err(ApiError::bad_request(said));
    let texts: Vec<String> = match input {
        Value::String(text) => vec![text],
        Value::Array(all) if all.iter().any(|one| one.is_number() || one.is_array()) => {
            return bad(
                "lists of tokens are not taken: this model has other tokens; send the text",
            );
        }
        other => match serde_json::from_value(other) {
            Ok(texts) => texts,
            Err(_) => return bad("expected `input` as a text or a list of texts"),
        },
    };
    if texts.is_empty() || texts.len() > MOST_TEXTS {
        let said = format!("expected 1 to {MOST_TEXTS} texts in `input`, found {}", texts.len());
        return bad(&said);
    }
    if texts.iter().any(String::is_empty) {
        return bad("expected texts that are not empty in `input`");
    }
    Ok(texts)
}
