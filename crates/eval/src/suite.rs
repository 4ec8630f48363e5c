//! A folder of sets, each a folder with a catalog and prompts with known answers.

use std::path::{Path, PathBuf};

use super::dataset::{BadRow, Query, RowFile};
use super::error::Error;
use super::score::with_gold;

/// The tools of a set: a file of rows, or a folder with any files that a catalog may be made from.
const TOOLS: [&str; 2] = ["tools.jsonl", "tools"];
const QUERIES: &str = "queries.jsonl";
const OFF_TOPIC: &str = "offtopic.jsonl";

/// The paths of a set's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetFiles {
    /// The name of the set's folder.
    pub name: String,
    pub tools: PathBuf,
    pub queries: PathBuf,
    /// Prompts that none of the set's tools serves, if there are any.
    pub off_topic: Option<PathBuf>,
}

#[derive(Clone, Debug, Default)]
pub struct Prompts {
    /// Prompts with known answers.
    pub on_topic: Vec<Query>,
    pub off_topic: Vec<Query>,
    /// Invalid rows, with the path of their file.
    pub bad: Vec<(PathBuf, BadRow)>,
}

/// Returns the sets of a folder by name, or those with the given names. A folder without prompts is
/// not a set.
pub fn find_sets(folder: &Path, only: &[String]) -> Result<Vec<SetFiles>, Error> {
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(Error::io("read", folder))? {
        let path = entry.map_err(Error::io("read", folder))?.path();
        if path.join(QUERIES).is_file() {
            folders.push(path);
        }
    }
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut named: Vec<(String, PathBuf)> =
        folders.into_iter().map(|path| (name(&path), path)).collect();
    named.sort();
    if named.is_empty() {
        return Err(Error::NoSets { path: folder.to_owned() });
    }
    let is_known = |wanted: &&String| named.iter().any(|(name, _)| name == *wanted);
    if let Some(unknown) = only.iter().find(|wanted| !is_known(wanted)) {
        let known = named.into_iter().map(|(name, _)| name).collect();
        return Err(Error::UnknownSet { path: folder.to_owned(), name: unknown.clone(), known });
    }
    named.retain(|(name, _)| only.is_empty() || only.contains(name));
    named.into_iter().map(|(name, path)| SetFiles::at(name, &path)).collect()
}

impl SetFiles {
    fn at(name: String, folder: &Path) -> Result<Self, Error> {
        let tools = TOOLS.iter().map(|name| folder.join(name)).find(|path| path.exists());
        let tools = tools.ok_or_else(|| Error::NoTools { path: folder.to_owned() })?;
        let off_topic = Some(folder.join(OFF_TOPIC)).filter(|path| path.exists());
        Ok(Self { name, tools, queries: folder.join(QUERIES), off_topic })
    }

    /// Returns the prompts of the set, or at most `most` of each kind. A sample is spread evenly
    /// over the file, so that a sample of a file sorted by server contains all servers. It is the
    /// same each time.
    pub fn prompts(&self, most: Option<usize>) -> Result<Prompts, Error> {
        let (queries, mut bad) = rows(&self.queries)?;
        let (queries, without) = with_gold(queries);
        bad.extend(without.into_iter().map(|row| (self.queries.clone(), row)));
        let (mut off_topic, on_topic): (Vec<_>, Vec<_>) =
            queries.into_iter().partition(|query| query.is_unserved);
        if let Some(path) = &self.off_topic {
            let (queries, more) = rows(path)?;
            bad.extend(more);
            let (none, served): (Vec<_>, _) =
                queries.into_iter().partition(|query| query.gold.is_empty());
            off_topic.extend(none);
            bad.extend(served.into_iter().map(|query| (path.clone(), has_gold(query))));
        }
        Ok(Prompts { on_topic: spread(on_topic, most), off_topic: spread(off_topic, most), bad })
    }
}

/// The prompts of a file, and its invalid rows.
type Rows = (Vec<Query>, Vec<(PathBuf, BadRow)>);

fn rows(path: &Path) -> Result<Rows, Error> {
    let (queries, bad) = RowFile::read(path)?.queries()?;
    Ok((queries, bad.into_iter().map(|row| (path.to_owned(), row)).collect()))
}

fn has_gold(query: Query) -> BadRow {
    let error = "\"gold\" names a tool; expected a prompt that no tool serves";
    BadRow { id: query.id, line: query.line, error: error.to_owned() }
}

fn spread<T>(rows: Vec<T>, most: Option<usize>) -> Vec<T> {
    let (count, most) = (rows.len(), most.unwrap_or(usize::MAX).min(rows.len()));
    // The row at `at` is taken if the number of rows due increases there.
    let due = |at: usize| at * most / count;
    let taken = |(at, row)| (due(at + 1) > due(at)).then_some(row);
    rows.into_iter().enumerate().filter_map(taken).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const QUERY: &str = "{\"query\":\"send it\",\"gold\":[\"mail__send\"]}\n";

    fn suite(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    #[test]
    fn a_suite_has_the_folders_with_prompts_by_name() {
        let dir = suite(&[
            ("b/queries.jsonl", QUERY),
            ("b/tools.jsonl", "{}"),
            ("b/offtopic.jsonl", "{\"query\":\"x\"}"),
            ("a/queries.jsonl", QUERY),
            ("a/tools/any.toml", ""),
            ("_merged/tools.jsonl", "{}"),
            ("README.md", ""),
        ]);
        let sets = find_sets(dir.path(), &[]).unwrap();
        let names: Vec<_> = sets.iter().map(|set| set.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(sets[0].tools.ends_with("a/tools") && sets[0].off_topic.is_none());
        assert!(sets[1].tools.ends_with("b/tools.jsonl") && sets[1].off_topic.is_some());
        assert_eq!(find_sets(dir.path(), &["b".to_owned()]).unwrap(), sets[1..]);
    }

    #[test]
    fn prompts_are_told_apart_and_bad_rows_told_by_file() {
        let dir = suite(&[
            ("a/tools.jsonl", "{}"),
            ("a/queries.jsonl", &format!("{QUERY}{{\"query\":\"no gold\"}}\nnone\n")),
            ("a/offtopic.jsonl", &format!("{{\"query\":\"x\",\"gold\":[]}}\n{QUERY}")),
        ]);
        let set = &find_sets(dir.path(), &[]).unwrap()[0];
        let prompts = set.prompts(None).unwrap();
        assert_eq!((prompts.on_topic.len(), prompts.off_topic.len()), (1, 1));
        let bad: Vec<_> = prompts.bad.iter().map(|(path, row)| (path, row.line)).collect();
        assert_eq!(
            bad,
            [(&set.queries, 3), (&set.queries, 2), (set.off_topic.as_ref().unwrap(), 2)]
        );
        assert!(prompts.bad[2].1.error.contains("no tool serves"), "{:?}", prompts.bad[2]);
        fs::write(&set.queries, "\n").unwrap();
        assert!(matches!(set.prompts(None), Err(Error::NoRows { .. })));
    }

    #[test]
    fn a_sample_is_spread_evenly() {
        let rows = || (0..10).collect::<Vec<_>>();
        assert_eq!(spread(rows(), Some(3)), [3, 6, 9]);
        assert_eq!(spread(rows(), Some(4)), [2, 4, 7, 9]);
        assert_eq!(spread(rows(), None), rows());
        assert_eq!(spread(rows(), Some(99)), rows());
        assert!(spread(Vec::<u8>::new(), Some(1)).is_empty());
        for count in 1..50 {
            let all = (0..49).collect::<Vec<_>>();
            assert_eq!(spread(all, Some(count)).len(), count.min(49));
        }
    }
}
