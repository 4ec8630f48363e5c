//! Classifies the lines of pasted text: logs, stack traces, tables, code, mails or chats.

use std::fmt;

use serde::Serialize;

use super::Pattern;

/// A kind of text that is ignored in ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseKind {
    /// Base64, data URIs, long hexadecimal numbers.
    Encoded,
    Log,
    /// A stack trace.
    Trace,
    /// Rows of Markdown, CSV or a database.
    Table,
    /// Source code, JSON, XML, differences.
    Code,
    /// A mail or a letter, and its quotes.
    Mail,
    Chat,
    /// Prose around the question.
    Context,
    /// The middle of a prompt of more than 128 KiB.
    Middle,
}

impl fmt::Display for NoiseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Encoded => "encoded data",
            Self::Log => "log",
            Self::Trace => "stack trace",
            Self::Table => "table",
            Self::Code => "code",
            Self::Mail => "mail",
            Self::Chat => "chat",
            Self::Context => "context",
            Self::Middle => "middle of a long text",
        })
    }
}

impl NoiseKind {
    /// Minimum number of lines to leave out. Fewer lines are considered part of the request.
    pub(super) fn least_lines(self) -> usize {
        match self {
            Self::Table | Self::Code | Self::Chat => 3,
            Self::Log | Self::Trace | Self::Mail => 2,
            Self::Encoded | Self::Context | Self::Middle => 1,
        }
    }
}

/// Maximum average number of words in a table's cells. Text between commas has more.
const CELL_WORDS: usize = 4;

/// Minimum number of lines of the same shape that form a table.
const RUN: usize = 3;

/// Lines with a time stamp or a level before the message: ISO, syslog, klog, web servers, `[ERROR]`, and
/// the prefixes of compose. Also places in files, as compilers and grep print them, and results of tests.
static LOG: Pattern = Pattern::new(concat!(
    r"^(?:\S{1,40}\s+\|\s+)?\W{0,2}(?:",
    r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?\S*\s+\S",
    r"|\d{4}[-/]\d\d[-/]\d\d[, ]\s*\W?(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL|CRITICAL|NOTICE)\b",
    r"|[\w./\\-]+\.\w+:\d+(?::\d+)?:",
    r"|\S+(?:::\S+|\.\w+)\s+(?:\.{2,}\s*)?(?:PASSED|FAILED|SKIPPED|ERROR|XFAIL|ok|FAIL)\s*(?:[\[(].*)?$",
    r"|[\w.-]+[-_]\d+\s+\|\s+\S",
    r"|Collecting \S+(?: \(from .*)?$|Downloading \S+\.\w+(?: \(.*\))?$|Requirement already satisfied: \S",
    r"|Compiling \S+ v\d|npm (?:WARN|ERR!|warn|error) [^?]+$",
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d",
    r"|\d\d:\d\d:\d\d[.,\]) ]",
    r"|\d\d-\d\d \d\d:\d\d:\d\d",
    r"|[IWEF]\d{4} \d\d:\d\d",
    r"|(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL|CRITICAL|NOTICE)(?:\]|:|\s{2,}| [\[(a-z])",
    r"|\d{1,3}(?:\.\d{1,3}){3} .{0,40}\[\d",
    r")"
));

/// Lines that only a stack trace has: Python, Java, JavaScript, Rust, Go, Ruby, PHP.
static TRACE: Pattern = Pattern::new(concat!(
    r#"^(?:\s*at \S+[\s(]?.*[:)]\S*$|\s*at \S+:\d+|\s*File "[^"]+", line \d+|Traceback \(most|Caused by: "#,
    r"|\s*\d+: +[\w:<>{}]+$|\s*\.{3} \d+ more|thread '[^']*' .*panicked at|stack backtrace:|goroutine \d+ \[",
    r"|\s*from \S+:\d+:in |#\d+ +\S+\(|\s*[\w./-]+\.go:\d+|(?:Exception in thread|Uncaught |Unhandled ).*(?:Error|Exception))",
));

/// The line that names the error. It belongs to a stack trace if it is next to one.
static ERROR: Pattern = Pattern::new(r"^[\w.$:]*(?:Error|Exception|Panic|Failure)\b(?::|$)");

/// Lines of Markdown tables and of the tables that databases print.
static ROW: Pattern =
    Pattern::new(r"^\s*(?:\|.*\||[-+=|:\s]*[-=]{3,}[-+=|:\s]*|\(\d+ rows?\))\s*$");

/// Lines of source code, markup and differences.
static CODE: Pattern = Pattern::new(concat!(
    r#"^\s*(?:\{.*"\s*:.*\},?$|[\]\[}{()]+[,;]?$|</?[a-zA-Z!?][^>]*>|@@ |diff --git |index [0-9a-f]{6,}|\+\+\+ |--- \S+/|#include|#!/|//|/\*|\*/"#,
    r"|(?:def|fn|func|function|class|struct|enum|impl|interface|public|private|protected|static|export|const|let|var|import|package|namespace|use|async|pub)\s[^.?!]*[;{}(=]|class \w+:$",
    r"|(?:if|for|while|match|switch|elif|else|try|catch|except|with|return|raise|throw|await|yield)\b.*[;:{}()]$",
    r"|(?:CREATE|ALTER|DROP|INSERT|UPDATE|GRANT) (?:TABLE|INDEX|INTO|VIEW|UNIQUE|ON)\b",
    r#"|["'][\w .$-]+["']\s*:\s|[\w.\[\]"']+(?::\s*\w+)?\s*(?:=|\+=|-=|:=)\s*\S.*|[\w.:]+\(.*\)[;,]?$)"#,
    r"|.*[;{]\s*$|^\s{2,}[\w.]+ [A-Z]{3,}.*,$|^\s{2,}.*(?:=>|\),?)$",
));

/// Header lines of a mail, and lines that introduce one.
static MAIL: Pattern = Pattern::new(concat!(
    r"(?i)^\W*(?:(?:from|to|sent|date|subject|cc|bcc|reply-to|von|an|gesendet|betreff|de|para|asunto|objet|à)\s?:\s+\S",
    r"|on .{8,80} wrote:$|-{3,} ?(?:original|forwarded|weitergeleitete).*|begin forwarded message:?$|am .{8,60} schrieb .{1,60}:$|le .{8,60} a écrit\s?:$)",
));

/// A chat message with its time.
static CHAT: Pattern = Pattern::new(concat!(
    r"^(?:\[?\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4},? \d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp][Mm])?\]?[ -]+[^:]{1,30}: ",
    r"|\[?\d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp][Mm])?\]?[ -]+[^:]{1,30}: |<[\w-]{1,20}> \S)",
));

/// Bytes in hexadecimal, and sums of files.
static BYTES: Pattern = Pattern::new(
    r"^(?:[0-9a-fA-F]{6,}[: ]+(?:[0-9a-fA-F]{2,4} +){6}|[0-9a-fA-F]{32,}(?:\s+\S+)?$|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$|-{3,}(?:BEGIN|END) [A-Z ]+-{3,}$|[A-Za-z0-9+/_-]{60,}={0,2}$)",
);

/// The kind of each line; `None` for prose and blank lines.
pub(super) fn line_kinds(lines: &[&str]) -> Vec<Option<NoiseKind>> {
    let mut kinds: Vec<Option<NoiseKind>> = lines.iter().map(|line| kind_of(line)).collect();
    mark_columns(lines, &mut kinds);
    for at in 0..lines.len() {
        let before = at.checked_sub(1).and_then(|before| kinds[before]);
        let after = kinds.get(at + 1).copied().flatten();
        let line = lines[at];
        let is_blank = line.trim().is_empty();
        kinds[at] = match (before, kinds[at]) {
            // The end of a wrapped key or file.
            (Some(NoiseKind::Encoded), _) if !is_blank && !line.trim().contains(' ') => before,
            // The source line below its position, and the indented lines of a compiler's message.
            (Some(NoiseKind::Trace), _) if line.starts_with([' ', '\t']) && !is_blank => before,
            (_, None | Some(NoiseKind::Code))
                if [before, after].contains(&Some(NoiseKind::Trace))
                    && ERROR.is_match(line.trim_start()) =>
            {
                Some(NoiseKind::Trace)
            }
            // The header of a table, and a row with fewer cells.
            (_, None) if after == Some(NoiseKind::Table) && cells(line) >= RUN => after,
            (Some(NoiseKind::Table), None) if cells(line) >= RUN => before,
            (Some(NoiseKind::Code), None) if line.starts_with([' ', '\t', '+', '-']) => before,
            (_, kind) => kind,
        };
    }
    kinds
}

fn kind_of(line: &str) -> Option<NoiseKind> {
    let text = line.trim();
    if text.is_empty() {
        return None;
    }
    if text.starts_with('>') && !text.starts_with(">>>") {
        return Some(NoiseKind::Mail);
    }
    let kinds = [
        (&BYTES, NoiseKind::Encoded),
        (&TRACE, NoiseKind::Trace),
        (&LOG, NoiseKind::Log),
        (&CHAT, NoiseKind::Chat),
        (&ROW, NoiseKind::Table),
        (&MAIL, NoiseKind::Mail),
    ];
    let found = kinds.into_iter().find(|(pattern, _)| pattern.is_match(text));
    found.map(|(_, kind)| kind).or_else(|| CODE.is_match(line).then_some(NoiseKind::Code))
}

/// The number of cells between bars or wide gaps.
fn cells(line: &str) -> usize {
    let count = |separator| line.split(separator).filter(|cell| !cell.trim().is_empty()).count();
    count("|").max(count("  ")).max(count("\t"))
}

/// Marks runs of lines with the same number of the same separator.
fn mark_columns(lines: &[&str], kinds: &mut [Option<NoiseKind>]) {
    for separator in ["\t", ",", ";", "|", "  "] {
        let shape = |line: &str| {
            let cells = line.trim().split(separator).filter(|cell| !cell.trim().is_empty());
            let (count, words) = cells.fold((0, 0), |(count, words), cell| {
                (count + 1, words + cell.split_whitespace().count())
            });
            let is_row =
                count >= 3 && words <= CELL_WORDS * count && !line.trim_end().ends_with(['?', '!']);
            is_row.then_some(if separator == "  " { 0 } else { count })
        };
        let mut start = 0;
        while start < lines.len() {
            let Some(first) = shape(lines[start]) else {
                start += 1;
                continue;
            };
            let same = lines[start..].iter().take_while(|line| shape(line) == Some(first)).count();
            if same >= RUN {
                for kind in &mut kinds[start..start + same] {
                    kind.get_or_insert(NoiseKind::Table);
                }
            }
            start += same;
        }
    }
}
