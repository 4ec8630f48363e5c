//! Starts programs so that none outlives us.
//!
//! Each runs in a process group of its own, which is killed as a whole when its lease is dropped.
//! That does not help where we are killed ourselves. So a small shell, started with the first
//! program, knows every group and waits for the end of a pipe that only we hold: the system closes
//! it however we end, and the shell kills what is left. It needs no signal handler, and no code
//! between fork and exec.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use process_wrap::tokio::{CommandWrap, KillOnDrop};

use super::servers::Program;

/// What all programs that are started have in common.
#[derive(Clone, Debug, Default)]
pub struct ProcessOptions {
    /// Variables that every program gets besides those of its entry. Nothing else of our
    /// environment reaches it.
    pub base_env: BTreeMap<String, String>,
}

/// The variables that programs cannot do without: where programs, home and temporary files are,
/// and the language. No name here holds a secret.
pub const BASE_VARIABLES: [&str; 16] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    // Windows starts next to nothing without these.
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "APPDATA",
    "LOCALAPPDATA",
    "PATHEXT",
    "TEMP",
];

/// The command of an entry, with a clean environment and a process group of its own.
pub(super) fn command(program: &Program, options: &ProcessOptions) -> CommandWrap {
    let mut wrapped = CommandWrap::with_new(&program.command, |command| {
        command.args(&program.args).env_clear().envs(&options.base_env).envs(&program.env);
        if let Some(cwd) = &program.cwd {
            command.current_dir(cwd);
        }
    });
    #[cfg(unix)]
    wrapped.wrap(process_wrap::tokio::ProcessGroup::leader());
    #[cfg(windows)]
    wrapped.wrap(process_wrap::tokio::JobObject);
    wrapped.wrap(KillOnDrop);
    wrapped
}

/// Knows the process groups that are ours, and sees to it that they end with us.
#[derive(Debug, Default)]
pub struct ProcessGuard {
    #[cfg(unix)]
    shell: Mutex<Option<std::process::Child>>,
}

impl ProcessGuard {
    /// Takes charge of the group that a new process leads.
    pub(super) fn lease(self: &Arc<Self>, leader: u32) -> GroupLease {
        if let Err(error) = self.tell('+', leader) {
            tracing::warn!(%error, "programs would outlive us if we were killed");
        }
        GroupLease { guard: Arc::clone(self), leader }
    }

    #[cfg(unix)]
    fn tell(&self, sign: char, leader: u32) -> io::Result<()> {
        use std::io::Write as _;

        let mut shell = self.shell.lock().unwrap_or_else(PoisonError::into_inner);
        if shell.is_none() {
            *shell = Some(start_shell()?);
        }
        let pipe = shell.as_mut().and_then(|shell| shell.stdin.as_mut());
        pipe.map_or(Ok(()), |pipe| writeln!(pipe, "{sign} {leader}"))
    }

    #[cfg(not(unix))]
    fn tell(&self, _sign: char, _leader: u32) -> io::Result<()> {
        // The job object of each program is closed by the system with our handle.
        Ok(())
    }
}

/// Holds the group's numbers, and kills those that are left when its input ends. Signals for us
/// must not end it first.
#[cfg(unix)]
const SHELL: &str = r#"trap '' HUP INT QUIT TERM
held=
while read -r sign group; do
  case $sign in
    +) held="$held $group" ;;
    -) kept=; for one in $held; do [ "$one" = "$group" ] || kept="$kept $one"; done; held=$kept ;;
  esac
done
for group in $held; do kill -s KILL -- "-$group" 2>/dev/null; done"#;

#[cfg(unix)]
fn start_shell() -> io::Result<std::process::Child> {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};

    // A group of its own: who kills ours must not kill it. No folder, so that it holds none.
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SHELL, "toolroute-guard"]).env_clear().current_dir("/").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

impl Drop for ProcessGuard {
    fn drop(&mut self) {
        #[cfg(unix)]
        {
            let shell = self.shell.get_mut().unwrap_or_else(PoisonError::into_inner);
            if let Some(mut shell) = shell.take() {
                drop(shell.stdin.take());
                // It ends at once, now that its input has; unwaited it would stay as a zombie.
                shell.wait().ok();
            }
        }
    }
}

/// Kills a process group when dropped: the program and whatever it started.
#[derive(Debug)]
pub(super) struct GroupLease {
    guard: Arc<ProcessGuard>,
    leader: u32,
}

impl Drop for GroupLease {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(group) =
            i32::try_from(self.leader).ok().and_then(rustix::process::Pid::from_raw)
        {
            // Nobody left in it is what we want.
            rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
        }
        self.guard.tell('-', self.leader).ok();
    }
}
