use serde::{Deserialize, Serialize};

use super::*;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    bytes: u64,
}

const KIND: Sealed = Sealed { magic: *b"testing\x1a", version: 3 };

fn file(bytes: u64, body: &[u8]) -> Vec<u8> {
    KIND.seal(&Header { bytes }, |file| file.extend_from_slice(body))
}

fn open(bytes: &[u8]) -> Result<(Header, &[u8]), Flaw> {
    KIND.open(bytes, |header: &Header| Some(header.bytes))
}

#[test]
fn a_sealed_file_opens_and_no_other_does() {
    let whole = file(4, b"body");
    assert_eq!(open(&whole), Ok((Header { bytes: 4 }, &b"body"[..])));
    for length in 0..whole.len() {
        let flaw = open(&whole[..length]).unwrap_err();
        assert!(matches!(flaw, Flaw::Truncated { got, .. } if got == length as u64), "{flaw:?}");
    }
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        let flaw = open(&changed).unwrap_err();
        assert!(
            match at {
                0..8 => flaw == Flaw::Foreign,
                8..12 => matches!(flaw, Flaw::Version { .. }),
                // A changed length may exceed the size of the file.
                _ if at < whole.len() - HASH => {
                    matches!(flaw, Flaw::Damaged | Flaw::Truncated { .. })
                }
                _ => flaw == Flaw::Damaged,
            },
            "byte {at}: {flaw:?}"
        );
    }
    assert_eq!(open(&file(3, b"body")), Err(Flaw::Damaged), "a byte after the end");
    assert!(matches!(open(&file(5, b"body")), Err(Flaw::Truncated { .. })));
    assert_eq!(open(&file(u64::MAX, b"")), Err(Flaw::Damaged));
    assert_eq!(open(b"{\"some\": \"text\"}"), Err(Flaw::Foreign));
    let newer = Sealed { version: 4, ..KIND }.seal(&Header { bytes: 0 }, |_| {});
    assert_eq!(open(&newer), Err(Flaw::Version { found: 4 }));
}

#[test]
fn a_file_is_replaced_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    replace(&path, Readers::Owner, b"old").unwrap();
    let failed = replace_with(&path, Readers::Owner, |file| {
        std::io::Write::write_all(file, b"new")?;
        Err::<(), _>(std::io::Error::other("in the middle"))
    });
    assert_eq!(failed.unwrap_err().to_string(), "in the middle");
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    replace(&path, Readers::Owner, b"new").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"new");
    assert!(replace(&folder.path().join("no/folder"), Readers::Owner, b"").is_err());
    let left = std::fs::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(left, 1, "a temporary file is left");
}

#[cfg(unix)]
#[test]
fn readers_are_those_that_were_asked_for_and_links_stay() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("file"), folder.path().join("link"));
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    replace(&path, Readers::All, b"1").unwrap();
    let all = mode();
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "as any").unwrap();
    assert_eq!(all, mode());
    replace(&path, Readers::Owner, b"2").unwrap();
    assert_eq!(mode(), 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    replace(&link, Readers::AsBefore, b"3").unwrap();
    assert_eq!(mode(), 0o640);
    assert!(link.is_symlink());
    assert_eq!(std::fs::read(&path).unwrap(), b"3");
}

#[test]
fn what_a_killed_writer_left_goes_with_the_next_write_and_nothing_else_does() {
    let folder = tempfile::tempdir().unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3_600);
    let make = |name: &str, is_stale: bool| {
        let path = folder.path().join(name);
        let file = std::fs::File::create(&path).unwrap();
        if is_stale {
            file.set_modified(old).unwrap();
        }
    };
    make(".a.json.AbC123.toolroute-new", true);
    for (name, is_stale) in [
        (".a.json.AbC124.toolroute-new", false),
        (".b.json.AbC123.toolroute-new", true),
        (".a.json.a.b.toolroute-new", true),
        (".a.json..toolroute-new", true),
        (".tmpAbC123", true),
        ("a.json.bak", true),
    ] {
        make(name, is_stale);
    }
    replace(&folder.path().join("a.json"), Readers::Owner, b"new").unwrap();
    assert!(!folder.path().join(".a.json.AbC123.toolroute-new").exists());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 7);
    let long = folder.path().join("\u{e4}".repeat(120));
    replace(&long, Readers::Owner, b"new").unwrap();
}

#[cfg(unix)]
#[test]
fn private_files_and_folders_are_for_their_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let inner = folder.path().join("a/b");
    private_folder(&inner).unwrap();
    assert_eq!((mode(&inner), mode(inner.parent().unwrap())), (0o700, 0o700));
    let file = inner.join("file");
    private_file(&file).unwrap();
    assert_eq!(mode(&file), 0o600);
    std::fs::write(&file, "kept").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    private_file(&file).unwrap();
    assert_eq!((mode(&file), &*std::fs::read(&file).unwrap()), (0o600, &b"kept"[..]));
}
