//! Analyses the structure of code: its division, design patterns and testability.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use super::complexity::{complexity, grade};
use super::features::{CodeStructure, Grade, Structure};
use super::source_language::language;
use super::testing_status::{is_test, testing_status};
use super::{Pattern, SourceFile, TestingStatus};

/// Design patterns by the endings of the names of types, files and folders.
const BY_NAME: &[(&str, &[&str])] = &[
    ("adapter", &["adapter", "adaptor"]),
    ("builder", &["builder"]),
    ("command", &["commandhandler"]),
    ("controller", &["controller"]),
    ("decorator", &["decorator"]),
    ("event_sourcing", &["eventstore", "aggregateroot"]),
    ("facade", &["facade"]),
    ("factory", &["factory"]),
    ("middleware", &["middleware", "interceptor"]),
    ("observer", &["observer", "listener", "subscriber"]),
    ("plugin", &["plugin"]),
    ("proxy", &["proxy"]),
    ("repository", &["repository", "repo"]),
    ("service", &["service"]),
    ("singleton", &["singleton"]),
    ("state_machine", &["statemachine"]),
    ("strategy", &["strategy"]),
    ("visitor", &["visitor"]),
];

/// Files that mark a separately built unit.
const MANIFESTS: &str = "package.json Cargo.toml go.mod pyproject.toml setup.py requirements.txt pom.xml \
    build.gradle build.gradle.kts Gemfile composer.json mix.exs";

static TYPE: Pattern = Pattern::new(
    r"\b(?:class|struct|interface|trait|enum|protocol|type|object|module)\s+([A-Za-z_]\w{2,})",
);
static SINGLETON: Pattern =
    Pattern::new(r"\b(?:getInstance|get_instance|sharedInstance|INSTANCE)\b");
/// State that every test shares.
static GLOBAL: Pattern = Pattern::new(
    r"(?m)\bstatic mut \w|^\s*global \w|\bgetInstance\(|\bget_instance\(|^(?:var|let) \w+ = new |\bGlobals?\.",
);
/// Places at which a test can substitute a part: interfaces and injected dependencies.
static SEAM: Pattern = Pattern::new(
    r"\b(?:interface|trait|protocol)\s+\w|\bProtocol\)|\bABC\)|\babstract class\b|@Inject|@Autowired|\bdyn \w|\bimpl \w+ for\b|constructor\([^)]*(?:private|readonly)|\bDepends\(",
);

/// Minimum number of folders with code in a modular structure.
const MODULES: usize = 3;
/// The share of all lines in one file from which the code is a monolith, whatever its folders.
const ONE_FILE: f32 = 0.7;

/// Analyses the structure of the code; its kind is `Unknown` if there is no code.
pub fn structure(files: &[SourceFile]) -> CodeStructure {
    let code: Vec<&SourceFile> =
        files.iter().filter(|file| language(file).is_some() && !is_test(file)).collect();
    CodeStructure {
        kind: kind(files, &code),
        patterns: patterns(&code),
        complexity: complexity(files).map_or(Grade::Low, grade),
        testability: testability(files, &code),
    }
}

fn kind(files: &[SourceFile], code: &[&SourceFile]) -> Structure {
    let folders: BTreeSet<&str> = code.iter().map(|file| folder(&file.path)).collect();
    if services(files) >= 2 {
        Structure::Microservices
    } else if code.is_empty() {
        Structure::Unknown
    } else if folders.len() >= MODULES && largest_share(code) < ONE_FILE {
        Structure::Modular
    } else {
        Structure::Monolith
    }
}

/// Returns the number of services: the maximum of folders with both a manifest and a Dockerfile,
/// services that compose files build, and Kubernetes deployments.
fn services(files: &[SourceFile]) -> usize {
    let mut marks: BTreeMap<&str, (bool, bool)> = BTreeMap::new();
    let (mut built, mut deployments) = (0, 0);
    for SourceFile { path, content } in files {
        let name = path.rsplit('/').next().unwrap_or(path);
        let mark = marks.entry(folder(path)).or_default();
        mark.0 |= name.starts_with("Dockerfile");
        mark.1 |= MANIFESTS.split(' ').any(|manifest| manifest == name);
        let yaml = name.ends_with(".yml") || name.ends_with(".yaml");
        if yaml && (name.contains("compose")) {
            built += content.lines().filter(|line| line.trim_start().starts_with("build:")).count();
        } else if yaml {
            deployments += content.lines().filter(|line| line.trim() == "kind: Deployment").count();
        }
    }
    let alone =
        marks.iter().filter(|(folder, both)| !folder.is_empty() && both.0 && both.1).count();
    alone.max(built).max(deployments)
}

/// Returns the folder of a path; empty at the root.
fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn largest_share(code: &[&SourceFile]) -> f32 {
    let lines = code.iter().map(|file| file.content.lines().count());
    let (most, all) = lines.fold((0, 0), |(most, all), lines| (most.max(lines), all + lines));
    most as f32 / all.max(1) as f32
}

/// Returns the design patterns after which types, files and folders are named, sorted.
fn patterns(code: &[&SourceFile]) -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut look = |name: &str| {
        let name: String =
            name.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
        let plural = name.strip_suffix('s').unwrap_or(&name);
        for (pattern, endings) in BY_NAME {
            if endings.iter().any(|ending| name.ends_with(ending) || plural.ends_with(ending)) {
                found.insert((*pattern).to_owned());
            }
        }
    };
    for file in code {
        file.path.split('/').for_each(|part| look(part.split('.').next().unwrap_or(part)));
        TYPE.captures_iter(&file.content).for_each(|found| look(&found[1]));
    }
    if code.iter().any(|file| SINGLETON.is_match(&file.content)) {
        found.insert("singleton".to_owned());
    }
    let has = |part: &str| code.iter().any(|file| file.path.to_lowercase().contains(part));
    if has("model") && has("view") && has("controller") {
        found.insert("mvc".to_owned());
    }
    found.into_iter().collect()
}

/// Grades testability: high if the code has such places, tests and hardly any shared state; low if
/// it has neither such places nor tests, or has shared state in more than a third of its files.
fn testability(files: &[SourceFile], code: &[&SourceFile]) -> Grade {
    let share = |mark: &Regex| {
        let with = code.iter().filter(|file| mark.is_match(&file.content)).count();
        with as f32 / code.len().max(1) as f32
    };
    let (seams, global) = (share(&SEAM), share(&GLOBAL));
    let tested = !matches!(testing_status(files), None | Some(TestingStatus::NoTests));
    if global > 1.0 / 3.0 || (seams == 0.0 && !tested) {
        Grade::Low
    } else if tested && seams >= 0.1 && global < 0.1 {
        Grade::High
    } else {
        Grade::Medium
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(all: &[(&str, &str)]) -> Vec<SourceFile> {
        let file = |(path, content): &(&str, &str)| SourceFile::new(path, content);
        all.iter().map(file).collect()
    }

    fn kind_of(all: &[(&str, &str)]) -> Structure {
        structure(&files(all)).kind
    }

    #[test]
    fn each_kind_is_told() {
        assert_eq!(kind_of(&[("README.md", "hello")]), Structure::Unknown);
        assert_eq!(kind_of(&[("app.py", "a = 1"), ("util.py", "b = 2")]), Structure::Monolith);
        let modules = [("src/cart/a.rs", "a"), ("src/pay/b.rs", "b"), ("src/mail/c.rs", "c")];
        assert_eq!(kind_of(&modules), Structure::Modular);
        let one = "x = 1\n".repeat(500);
        let swollen = [("a/b.py", one.as_str()), ("c/d.py", "y"), ("e/f.py", "z")];
        assert_eq!(kind_of(&swollen), Structure::Monolith);
        let services = [
            ("cart/Dockerfile", "FROM rust"),
            ("cart/Cargo.toml", ""),
            ("cart/src/main.rs", "fn main() {}"),
            ("mail/Dockerfile", "FROM node"),
            ("mail/package.json", "{}"),
            ("mail/index.js", "run()"),
        ];
        assert_eq!(kind_of(&services), Structure::Microservices);
        let compose = "services:\n  a:\n    build: ./a\n  b:\n    build: ./b\n";
        assert_eq!(
            kind_of(&[("docker-compose.yml", compose), ("a/x.go", "package a")]),
            Structure::Microservices
        );
    }

    #[test]
    fn patterns_are_found_by_the_names_of_types_and_folders() {
        let all = files(&[
            ("src/OrderRepository.java", "public class OrderRepository {}"),
            (
                "src/events.py",
                "class PriceListener:\n    pass\nclass Db:\n    def get_instance(): ...",
            ),
            ("app/models/user.rb", ""),
            ("app/views/user.rb", ""),
            ("app/controllers/users.rb", ""),
        ]);
        let found = structure(&all).patterns;
        assert_eq!(found, ["controller", "mvc", "observer", "repository", "singleton"]);
    }

    #[test]
    fn seams_and_tests_make_code_testable_and_shared_state_does_not() {
        let of = |all: &[(&str, &str)]| structure(&files(all)).testability;
        assert_eq!(of(&[("a.rs", "static mut N: u8 = 0;"), ("a_test.rs", "")]), Grade::Low);
        assert_eq!(of(&[("a.py", "x = 1")]), Grade::Low);
        assert_eq!(of(&[("a.py", "x = 1"), ("test_a.py", "")]), Grade::Medium);
        let clock =
            [("src/clock.rs", "pub trait Clock { fn now(&self); }\n#[cfg(test)]\nmod tests {}")];
        assert_eq!(of(&clock), Grade::High);
    }
}
