//! Paths as they stand in a token stream, inside macros and attributes too.

use proc_macro2::{Delimiter, TokenTree};

pub fn is_punct(token: Option<&TokenTree>, punct: char) -> bool {
    matches!(token, Some(TokenTree::Punct(found)) if found.as_char() == punct)
}

pub fn is_ident(token: Option<&TokenTree>, name: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(found)) if found == name)
}

fn is_colons(tokens: &[TokenTree], at: usize) -> bool {
    is_punct(tokens.get(at), ':') && is_punct(tokens.get(at + 1), ':')
}

/// The `(crate)`, `(super)` or `(in …)` of a visibility, not the type of a tuple field.
pub fn is_restriction(token: Option<&TokenTree>) -> bool {
    let Some(TokenTree::Group(group)) = token else { return false };
    let words: Vec<TokenTree> = group.stream().into_iter().collect();
    let scope =
        words.len() == 1 && ["crate", "super", "self"].iter().any(|w| is_ident(words.first(), w));
    group.delimiter() == Delimiter::Parenthesis && (scope || is_ident(words.first(), "in"))
}

/// The name of an identifier, `r#` taken off.
fn name_of(ident: &proc_macro2::Ident) -> String {
    ident.to_string().trim_start_matches("r#").to_owned()
}

/// The path `a::b::c` that begins here and how many tokens it takes.
pub fn leading_path(tokens: &[TokenTree]) -> (Vec<String>, usize) {
    let (mut path, mut at) = (Vec::new(), 0);
    while let Some(TokenTree::Ident(ident)) = tokens.get(at) {
        path.push(name_of(ident));
        at += 1;
        if !(is_colons(tokens, at) && matches!(tokens.get(at + 2), Some(TokenTree::Ident(_)))) {
            break;
        }
        at += 2;
    }
    (path, at)
}

/// Every path of a `use`, braces multiplied out; `*` and `as` names are left off.
pub fn use_paths(tokens: &[TokenTree]) -> Vec<(Vec<String>, usize)> {
    let mut paths = Vec::new();
    for branch in tokens.split(|token| is_punct(Some(token), ',')) {
        let start = if is_colons(branch, 0) { 2 } else { 0 };
        let Some(first) = branch.get(start) else { continue };
        let (prefix, taken) = leading_path(&branch[start..]);
        let after = start + taken + if is_colons(branch, start + taken) { 2 } else { 0 };
        match branch.get(after) {
            Some(TokenTree::Group(group)) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                for (tail, line) in use_paths(&inner) {
                    paths.push((prefix.iter().cloned().chain(tail).collect(), line));
                }
            }
            _ if prefix.is_empty() => {}
            _ => paths.push((prefix, first.span().start().line)),
        }
    }
    paths
}
