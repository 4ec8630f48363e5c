//! Starts programs so that none outlives this process.
//!
//! Each program runs in a process group of its own, which is killed when its lease is dropped. To
//! cover a kill of this process, the group's first member is a small shell that waits for the end
//! of a pipe whose other end only this process holds. The system closes the pipe however this
//! process ends, and the shell then kills its group. The group exists before the program starts, so
//! there is no moment without protection. This needs no signal handler, and no code between fork
//! and exec.

use std::collections::BTreeMap;
use std::io;
use std::process::Stdio;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};

use super::servers::Program;

/// Options for all programs that are started.
#[derive(Clone, Debug, Default)]
pub struct ProcessOptions {
    /// Variables that every program gets besides those of its entry. Other variables of this
    /// process are not passed on.
    pub base_env: BTreeMap<String, String>,
}

/// The variables that programs need: the places of programs, home and temporary files, and the
/// language. None holds a secret.
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
    // Windows cannot start most programs without these.
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "APPDATA",
    "LOCALAPPDATA",
    "PATHEXT",
    "TEMP",
];

/// A process that was started.
pub(super) type Child = Box<dyn ChildWrapper>;

/// A running program, whose three pipes are those of `child`.
pub(super) struct RunningProgram {
    pub child: Child,
    /// Kills the program and its children when dropped.
    pub lease: GroupLease,
}

/// Starts an entry's program, with only the variables of its entry and the base ones, in a process
/// group of its own.
pub(super) fn start(program: &Program, options: &ProcessOptions) -> io::Result<RunningProgram> {
    start_in(GroupLease::take(), program, options)
}

// Only Unix has process groups, so `lease` does not change elsewhere.
#[cfg_attr(not(unix), allow(unused_mut))]
fn start_in(
    mut lease: GroupLease,
    program: &Program,
    options: &ProcessOptions,
) -> io::Result<RunningProgram> {
    let mut wrapped = CommandWrap::with_new(&program.command, |command| {
        command.args(&program.args).env_clear().envs(&options.base_env).envs(&program.env);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(cwd) = &program.cwd {
            command.current_dir(cwd);
        }
        #[cfg(unix)]
        command.process_group(lease.group);
    });
    #[cfg(windows)]
    wrapped.wrap(process_wrap::tokio::JobObject);
    wrapped.wrap(KillOnDrop);
    let child = wrapped.spawn()?;
    #[cfg(unix)]
    lease.adopt(child.id());
    Ok(RunningProgram { child, lease })
}

#[cfg(unix)]
const SHELL: &str = "/bin/sh";

/// Waits for the end of its input, and then kills its own group. Signals to this process or to the
/// group must not end it earlier.
#[cfg(unix)]
const GUARD: &str = "trap '' HUP INT QUIT TERM; read -r _; kill -s KILL 0";

/// Kills a process group when dropped: the program and its children.
#[derive(Debug)]
pub(super) struct GroupLease {
    /// The group's leader. It is reaped after the group is killed, so that its process id cannot be
    /// reused before.
    #[cfg(unix)]
    leader: Option<std::process::Child>,
    /// The group's id; 0 if the program creates the group.
    #[cfg(unix)]
    group: i32,
}

#[cfg(unix)]
impl GroupLease {
    /// Creates a group that ends with this process.
    fn take() -> Self {
        Self::led_by(SHELL)
    }

    /// Starts the shell that leads the group. Without it the program creates its own group, which
    /// ends with the lease but survives a kill of this process.
    fn led_by(shell: &str) -> Self {
        static WARNED: std::sync::Once = std::sync::Once::new();
        match Self::lead(shell) {
            Ok(leader) => Self { group: leader.id().cast_signed(), leader: Some(leader) },
            Err(error) => {
                WARNED.call_once(|| {
                    tracing::warn!(
                        "cannot start {shell}, which ends programs of servers where this process is \
                         killed: {error}; they may then outlive it"
                    );
                });
                Self { leader: None, group: 0 }
            }
        }
    }

    fn lead(shell: &str) -> io::Result<std::process::Child> {
        use std::os::unix::process::CommandExt as _;

        // In the root folder and without variables, so that the shell keeps no other folder in use.
        let mut command = std::process::Command::new(shell);
        command
            .args(["-c", GUARD, "toolroute-guard"])
            .env_clear()
            .current_dir("/")
            .process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn()
    }

    /// Adopts the group that the program created, if there was none before.
    fn adopt(&mut self, program: Option<u32>) {
        if let (None, Some(program)) = (&self.leader, program) {
            self.group = program.cast_signed();
        }
    }
}

/// The system closes each program's job object together with the handle of this process.
#[cfg(not(unix))]
impl GroupLease {
    fn take() -> Self {
        Self {}
    }
}

impl Drop for GroupLease {
    fn drop(&mut self) {
        #[cfg(unix)]
        {
            if let Some(group) = rustix::process::Pid::from_raw(self.group) {
                // The group may be empty already.
                rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
            }
            // Reaps the leader, which would stay as a zombie.
            self.leader.as_mut().map(std::process::Child::wait);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// The processes of a group that are not zombies.
    fn alive(group: i32) -> usize {
        let folders = std::fs::read_dir("/proc").unwrap();
        let stats = folders
            .filter_map(|folder| std::fs::read_to_string(folder.ok()?.path().join("stat")).ok());
        let fields = stats.filter_map(|stat| {
            let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
            Some((fields.next()?.to_owned(), fields.nth(1)?.parse::<i32>().ok()?))
        });
        fields.filter(|(state, of)| state != "Z" && *of == group).count()
    }

    fn shell(script: &str) -> Program {
        let args = ["-c", script].map(str::to_owned).to_vec();
        Program { command: "/bin/sh".into(), args, ..Program::default() }
    }

    async fn until(is_so: impl Fn() -> bool) {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    #[cfg(target_os = "linux")]
    async fn a_program_and_its_children_end_with_the_lease_and_with_us() {
        let program = shell("sleep 600 & sleep 600 & wait");
        for ends_with_us in [false, true] {
            let RunningProgram { mut child, mut lease } =
                start(&program, &ProcessOptions::default()).unwrap();
            let group = lease.group;
            until(|| alive(group) >= 4).await;
            // The system does the same when this process is killed.
            if ends_with_us {
                drop(lease.leader.as_mut().unwrap().stdin.take())
            } else {
                drop(lease)
            }
            child.wait().await.unwrap();
            until(|| alive(group) == 0).await;
        }
    }

    #[tokio::test]
    #[cfg(target_os = "linux")]
    async fn without_the_shell_a_program_starts_and_its_group_ends_with_the_lease() {
        let lease = GroupLease::led_by("/nowhere/sh");
        let program = shell("sleep 600 & wait");
        let started = start_in(lease, &program, &ProcessOptions::default()).unwrap();
        let RunningProgram { mut child, lease } = started;
        let group = lease.group;
        assert_eq!(u32::try_from(group).ok(), child.id());
        until(|| alive(group) >= 2).await;
        drop(lease);
        child.wait().await.unwrap();
        until(|| alive(group) == 0).await;
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_told_as_such() {
        let program = Program { command: "/nowhere/program".into(), ..Program::default() };
        let error = start(&program, &ProcessOptions::default()).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
