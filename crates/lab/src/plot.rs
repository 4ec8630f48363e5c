//! Draws the report of a suite: one row per set, with one dot per strategy and whiskers for its
//! interval.

use std::fmt::{Display, Formatter, Result};

use toolroute_eval::{Comparison, Interval, Verdict};
use toolroute_rank::engine::Strategy;

use crate::report::Report;

const WIDTH: i32 = 1120;
/// The left and right end of the scale of scores.
const LEFT: i32 = 276;
const RIGHT: i32 = WIDTH - 236;
const TOP: i32 = 128;
const ROW: i32 = 44;
/// The space between the sets and the means.
const GAP: i32 = 22;
const BOTTOM: i32 = 74;
/// The distance between the strategies of a row.
const STEP: i32 = 11;

/// The space at the left and right edge.
const EDGE: i32 = 24;
/// The right ends of the two columns of numbers.
const SCORES: i32 = RIGHT + 64;
const DIFFERENCES: i32 = WIDTH - EDGE - 10;

const INK: &str = "#22262b";
const PALE: &str = "#68707a";
const GRID: &str = "#dfe3e8";
/// For a hybrid that is worse than its best part. From the same palette as [`colour`].
const WARNING: &str = "#d55e00";
const WHITE: &str = "#ffffff";
const BAND: &str = "#f5f7f9";
const FONT: &str = "DejaVu Sans, Helvetica, Arial, sans-serif";

/// Returns the colour of a strategy. The colours are three of those that Okabe and Ito chose to be
/// distinguishable with every kind of colour vision; each strategy has its own shape as well.
fn colour(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Keyword => "#e69f00",
        Strategy::Semantic => "#009e73",
        Strategy::Hybrid | Strategy::Auto => "#0072b2",
    }
}

/// One row of the plot.
struct Row<'a> {
    name: String,
    detail: String,
    comparison: &'a Comparison,
    is_mean: bool,
}

/// Draws a report as SVG.
pub fn svg(report: &Report) -> String {
    Plot { report, rows: rows(report) }.to_string()
}

/// Returns the sets by hybrid's score, best first, then the means.
fn rows(report: &Report) -> Vec<Row<'_>> {
    let sets = report.sets.iter().map(|set| Row {
        name: set.set.clone(),
        detail: format!("{} tools, {} prompts", grouped(set.tools), grouped(set.queries)),
        comparison: &set.comparison,
        is_mean: false,
    });
    let mut rows: Vec<Row<'_>> = sets.collect();
    let score = |row: &Row<'_>| row.comparison.strategies.hybrid.ndcg_at_5.mean;
    rows.sort_by(|a, b| score(b).total_cmp(&score(a)));
    let means = report.means.iter().map(|mean| Row {
        name: format!("Mean of {}", mean.over),
        detail: format!("{} sets, each counts the same", mean.sets),
        comparison: &mean.comparison,
        is_mean: true,
    });
    rows.extend(means);
    rows
}

/// Returns the number with its digits grouped by thousands: `42,820`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

struct Plot<'a> {
    report: &'a Report,
    rows: Vec<Row<'a>>,
}

impl Display for Plot<'_> {
    fn fmt(&self, svg: &mut Formatter<'_>) -> Result {
        let height = TOP + ROW * self.rows.len() as i32 + GAP + BOTTOM;
        writeln!(
            svg,
            r#"<svg width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" font-family="{FONT}" xmlns="http://www.w3.org/2000/svg">"#
        )?;
        writeln!(svg, r##"<rect width="{WIDTH}" height="{height}" fill="{WHITE}"/>"##)?;
        let mut canvas = Canvas { svg, scale: Axis::of(&self.rows) };
        canvas.head(self.report)?;
        canvas.axis(height)?;
        let mut middle = TOP + ROW / 2;
        let mut last_was_mean = false;
        for (at, row) in self.rows.iter().enumerate() {
            if row.is_mean && !last_was_mean {
                middle += GAP;
                let above = middle - ROW / 2 - GAP / 2;
                canvas.line((EDGE, above), (WIDTH - EDGE, above), PALE, 1)?;
            }
            last_was_mean = row.is_mean;
            canvas.row(row, middle, at % 2 == 0)?;
            middle += ROW;
        }
        writeln!(canvas.svg, "</svg>")
    }
}

/// Maps scores to columns of pixels. Both ends are multiples of a tenth.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn of(rows: &[Row<'_>]) -> Self {
        let all = || rows.iter().flat_map(|row| row.comparison.strategies.iter());
        let low = all().map(|(_, scores)| scores.ndcg_at_5.low).fold(1.0, f64::min);
        let high = all().map(|(_, scores)| scores.ndcg_at_5.high).fold(0.0, f64::max);
        let low = (low * 10.0).floor().clamp(0.0, 9.0) / 10.0;
        Self { low, high: ((high * 10.0).ceil() / 10.0).clamp(low + 0.1, 1.0) }
    }

    fn x(&self, score: f64) -> i32 {
        let share = (score - self.low) / (self.high - self.low);
        LEFT + (share * f64::from(RIGHT - LEFT)).round() as i32
    }

    fn tenths(&self) -> impl Iterator<Item = f64> + use<> {
        let (first, last) = ((self.low * 10.0).round() as i32, (self.high * 10.0).round() as i32);
        (first..=last).map(|tenth| f64::from(tenth) / 10.0)
    }
}

/// The style of a text.
#[derive(Clone, Copy)]
struct Writing {
    size: i32,
    colour: &'static str,
    bold: bool,
    /// The SVG `text-anchor`.
    anchor: &'static str,
}

impl Writing {
    const fn new(size: i32, colour: &'static str) -> Self {
        Self { size, colour, bold: false, anchor: "start" }
    }

    const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    const fn anchor(self, anchor: &'static str) -> Self {
        Self { anchor, ..self }
    }
}

struct Canvas<'a, 'f> {
    svg: &'a mut Formatter<'f>,
    scale: Axis,
}

impl Canvas<'_, '_> {
    /// Draws the title, a description and the legend.
    fn head(&mut self, report: &Report) -> Result {
        let title = format!("Ranking quality by set: {}, {}", report.model, report.precision);
        self.text(&title, (EDGE, 30), Writing::new(24, INK).bold())?;
        let prompts: usize = report.sets.iter().map(|set| set.queries).sum();
        let (sets, prompts) = (report.sets.len(), grouped(prompts));
        let most = report.queries_per_set;
        let sample = most.map_or(String::new(), |most| format!(", at most {most} a set"));
        let said = format!(
            "nDCG@5: mean and 95 % bootstrap interval. {sets} sets, {prompts} prompts{sample}. \
             Sorted by hybrid."
        );
        self.text(&said, (EDGE, 60), Writing::new(15, PALE))?;
        let mut x = LEFT;
        let about = ["keyword (BM25)", "semantic (the model)", "hybrid (both)"];
        let strategies = [Strategy::Keyword, Strategy::Semantic, Strategy::Hybrid];
        for (strategy, about) in strategies.into_iter().zip(about) {
            self.line((x - 14, 92), (x + 14, 92), colour(strategy), 2)?;
            self.marker(strategy, (x, 92))?;
            self.text(about, (x + 22, 92), Writing::new(15, INK))?;
            x += 64 + 8 * about.len() as i32;
        }
        let head = Writing::new(13, PALE).anchor("end");
        self.text("hybrid", (SCORES, 92), head)?;
        self.text("less best part", (DIFFERENCES, 92), head)
    }

    fn axis(&mut self, height: i32) -> Result {
        let bottom = height - BOTTOM + 8;
        for tenth in self.scale.tenths() {
            let x = self.scale.x(tenth);
            self.line((x, TOP - 8), (x, bottom), GRID, 1)?;
            let label = Writing::new(14, PALE).anchor("middle");
            self.text(&format!("{tenth:.1}"), (x, bottom + 16), label)?;
        }
        let centre = (LEFT + RIGHT) / 2;
        let label = Writing::new(14, INK).anchor("middle");
        self.text("nDCG@5 (1 is a perfect ranking)", (centre, bottom + 42), label)
    }

    fn row(&mut self, row: &Row<'_>, middle: i32, is_banded: bool) -> Result {
        if is_banded {
            let (top, width) = (middle - ROW / 2, WIDTH - 2 * EDGE);
            writeln!(
                self.svg,
                r#"<rect x="{EDGE}" y="{top}" width="{width}" height="{ROW}" fill="{BAND}"/>"#
            )?;
            for tenth in self.scale.tenths() {
                let x = self.scale.x(tenth);
                self.line((x, top), (x, top + ROW), GRID, 1)?;
            }
        }
        let name = Writing { bold: row.is_mean, ..Writing::new(16, INK) };
        self.text(&shortened(&row.name), (EDGE + 10, middle - 9), name)?;
        self.text(&row.detail, (EDGE + 10, middle + 10), Writing::new(13, PALE))?;
        for (at, (strategy, scores)) in (-1..).zip(row.comparison.strategies.iter()) {
            self.whisker(strategy, scores.ndcg_at_5, middle + at * STEP)?;
        }
        self.numbers(row, middle)
    }

    fn whisker(&mut self, strategy: Strategy, score: Interval, y: i32) -> Result {
        let [low, mean, high] = [score.low, score.mean, score.high].map(|at| self.scale.x(at));
        self.line((low, y), (high, y), colour(strategy), 2)?;
        for end in [low, high] {
            self.line((end, y - 3), (end, y + 3), colour(strategy), 2)?;
        }
        self.marker(strategy, (mean, y))
    }

    /// Draws the shape of the strategy with a white rim that separates it from its neighbours.
    fn marker(&mut self, strategy: Strategy, (x, y): (i32, i32)) -> Result {
        for (rim, fill) in [(2, WHITE), (0, colour(strategy))] {
            if strategy == Strategy::Hybrid {
                let radius = 5 + rim;
                writeln!(self.svg, r#"<circle cx="{x}" cy="{y}" r="{radius}" fill="{fill}"/>"#)?;
                continue;
            }
            let corners = if strategy == Strategy::Keyword {
                let size = 4 + rim;
                [(-size, -size), (size, -size), (size, size), (-size, size)]
            } else {
                let size = 6 + rim;
                [(0, -size), (size, 0), (0, size), (-size, 0)]
            };
            let points = corners.map(|(right, down)| format!("{},{}", x + right, y + down));
            writeln!(self.svg, r#"<polygon points="{}" fill="{fill}"/>"#, points.join(" "))?;
        }
        Ok(())
    }

    fn numbers(&mut self, row: &Row<'_>, middle: i32) -> Result {
        let hybrid = row.comparison.strategies.hybrid.ndcg_at_5.mean;
        let score = Writing::new(16, colour(Strategy::Hybrid)).bold().anchor("end");
        self.text(&format!("{hybrid:.3}"), (SCORES, middle), score)?;
        let against = row.comparison.hybrid_vs_best;
        let (ink, pale) = match against.verdict {
            Verdict::Above => (colour(Strategy::Hybrid), colour(Strategy::Hybrid)),
            Verdict::NotBelow => (INK, PALE),
            Verdict::Below => (WARNING, WARNING),
        };
        // A minus sign is as wide as the plus sign above it; a hyphen is shorter.
        let difference = format!("{:+.3}", against.difference.mean).replace('-', "−");
        let number = Writing::new(15, ink).anchor("end");
        self.text(&difference, (DIFFERENCES, middle - 8), number)?;
        let said = format!("{} {}", against.verdict.as_str(), against.best);
        let verdict = Writing::new(12, pale).anchor("end");
        self.text(&said, (DIFFERENCES, middle + 10), verdict)
    }

    fn line(&mut self, from: (i32, i32), to: (i32, i32), colour: &str, width: u32) -> Result {
        let ((x1, y1), (x2, y2)) = (from, to);
        writeln!(
            self.svg,
            r#"<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}" stroke-width="{width}"/>"#
        )
    }

    /// Draws a text that is vertically centred on `y`.
    fn text(&mut self, text: &str, (x, y): (i32, i32), writing: Writing) -> Result {
        let Writing { size, colour, bold, anchor } = writing;
        let weight = if bold { r#" font-weight="bold""# } else { "" };
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        writeln!(
            self.svg,
            r#"<text x="{x}" y="{y}" dy="0.5ex" text-anchor="{anchor}" font-size="{size}" fill="{colour}"{weight}>{text}</text>"#
        )
    }
}

/// Shortens a set's name to the width of its column.
fn shortened(name: &str) -> String {
    const MOST: usize = 22;
    match name.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let shown = [0, 45, 999, 1_000, 42_820, 1_000_000].map(grouped);
        assert_eq!(shown, ["0", "45", "999", "1,000", "42,820", "1,000,000"]);
    }

    #[test]
    fn every_set_and_mean_is_drawn_and_names_are_escaped() {
        let svg = svg(&report(&[("<small> & odd", 0.5), ("sample", 0.7)]));
        for words in ["m, int8", "&lt;small&gt; &amp; odd", "2 sets, 6 prompts", "Mean of all sets"]
        {
            assert!(svg.contains(words), "{words} is missing from\n{svg}");
        }
        let best = svg.find("sample").unwrap();
        assert!(best < svg.find("odd").unwrap() && svg.ends_with("</svg>\n"), "{svg}");
    }

    #[test]
    fn a_scale_goes_from_one_tenth_to_another_and_is_never_empty() {
        let none = Axis::of(&[]);
        assert!(none.low < none.high && none.tenths().count() == 2);
        let scale = Axis { low: 0.3, high: 0.7 };
        assert_eq!((scale.x(0.3), scale.x(0.7)), (LEFT, RIGHT));
        assert_eq!(scale.tenths().collect::<Vec<_>>(), [0.3, 0.4, 0.5, 0.6, 0.7]);
    }
}
