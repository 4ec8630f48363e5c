//! Checks a program before it is started: the system's error "no such file" does not say whether
//! the program, its folder or its interpreter is missing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::servers::Program;
use super::spawn::ProcessOptions;

impl Program {
    /// Checks that the program can be started: its folder exists, and the command is found on the
    /// `PATH` that the program gets. An error names the missing folder or program.
    pub fn check(&self, options: &ProcessOptions) -> Result<(), String> {
        if let Some(cwd) = self.cwd.as_deref().filter(|cwd| !cwd.is_dir()) {
            return Err(format!("folder not found: {}", cwd.display()));
        }
        match self.is_found(options) {
            true => Ok(()),
            false if self.path().is_some_and(|path| path.is_file()) => {
                Err(format!("no permission to run {}; `chmod +x` gives it", self.command))
            }
            false => Err(format!("program not found: {}", self.command)),
        }
    }

    /// The path of the command, unless it is a name to look for.
    fn path(&self) -> Option<PathBuf> {
        let is_path = self.command.contains(['/', '\\']);
        is_path.then(|| self.cwd.as_deref().unwrap_or(Path::new("")).join(&self.command))
    }

    fn is_found(&self, options: &ProcessOptions) -> bool {
        if let Some(path) = self.path() {
            return is_program(&path);
        }
        let path = self.env.get("PATH").or_else(|| options.base_env.get("PATH"));
        let path = path.map(OsString::from).or_else(|| std::env::var_os("PATH"));
        let Some(path) = path else { return false };
        let ends = if cfg!(windows) { &["", ".exe", ".cmd", ".bat"][..] } else { &[""][..] };
        std::env::split_paths(&path).any(|folder| {
            ends.iter().any(|end| is_program(&folder.join(format!("{}{end}", self.command))))
        })
    }
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    std::fs::metadata(path)
        .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    let with_end = |end: &str| PathBuf::from(format!("{}{end}", path.display()));
    path.is_file() || [".exe", ".cmd", ".bat"].iter().any(|end| with_end(end).is_file())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let options = ProcessOptions::default();
        let check = |command: &str, cwd: Option<&str>, path: Option<&str>| {
            let env = path.map(|path| ("PATH".to_owned(), path.to_owned())).into_iter().collect();
            let cwd = cwd.map(PathBuf::from);
            Program { command: command.into(), args: Vec::new(), env, cwd }.check(&options)
        };
        assert_eq!(check("sh", None, None), Ok(()));
        assert_eq!(check("/bin/sh", Some("/"), None), Ok(()));
        assert_eq!(check("./sh", Some("/bin"), None), Ok(()));
        assert_eq!(check("sh", None, Some("/nowhere")).unwrap_err(), "program not found: sh");
        assert_eq!(check("/bin/none", None, None).unwrap_err(), "program not found: /bin/none");
        let file = check("/etc/passwd", None, None).unwrap_err();
        assert!(file.starts_with("no permission to run /etc/passwd"), "{file}");
        assert_eq!(check("sh", Some("/none"), None).unwrap_err(), "folder not found: /none");
    }
}
