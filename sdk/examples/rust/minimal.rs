//! A minimal provider in Rust: each sandbox is a folder in /tmp, in which commands run on this machine. NOTHING IS
//! ISOLATED. It is ../minimal/minimal.c once more, so that the two can be read side by side.
//!
//! What Rust adds: files and child processes have owners that end them on every way out, and `guarded` turns errors and
//! panics into a status.

mod sandlot;

use sandlot::{guarded, text, Call, Command, Create, Exit, Failure, Provider, Sink, Status, NOTHING};
use std::ffi::{c_void, CStr, CString, OsStr};
use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::os::raw::{c_char, c_int, c_long, c_short, c_uint, c_ulong};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::io::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const PREFIX: &str = "/tmp/sandlot-minimal-rust-";
const LONGEST_COMMAND: usize = 131071; // what Linux takes as one argument

// ---- what std does not have ----------------------------------------------------------------------------------------------

const O_CLOEXEC: c_int = 0o2000000;
const AT_FDCWD: c_int = -100;
const AT_SYMLINK_NOFOLLOW: c_int = 0x100;
const SIGKILL: c_int = 9;
const POLLIN: c_short = 1;
const CLOCK_MONOTONIC: c_int = 1;
const SYS_PIDFD_OPEN: c_long = 434;

#[repr(C)]
struct PollFd {
    fd: c_int,
    events: c_short,
    revents: c_short,
}

#[repr(C)]
struct TimeSpec {
    seconds: i64,
    nanoseconds: c_long,
}

extern "C" {
    fn clock_gettime(clock: c_int, time: *mut TimeSpec) -> c_int;
    fn fchmodat(folder: c_int, path: *const c_char, mode: c_uint, flags: c_int) -> c_int;
    fn geteuid() -> c_uint;
    fn kill(process: c_int, signal: c_int) -> c_int;
    fn mkdtemp(template: *mut c_char) -> *mut c_char;
    fn pipe2(ends: *mut c_int, flags: c_int) -> c_int;
    fn poll(watched: *mut PollFd, count: c_ulong, timeout_ms: c_int) -> c_int;
    fn setpgid(process: c_int, group: c_int) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
}

/// When the call must be over: in so long; `None` without a deadline.
fn until_deadline(call: &Call) -> Option<Duration> {
    let mut now = TimeSpec { seconds: 0, nanoseconds: 0 };

    if call.deadline_ms == 0 {
        return None;
    }
    unsafe { clock_gettime(CLOCK_MONOTONIC, &mut now) };
    let left = call.deadline_ms - (now.seconds * 1000 + now.nanoseconds as i64 / 1_000_000);
    Some(Duration::from_millis(left.max(0) as u64))
}

// ---- sandboxes -----------------------------------------------------------------------------------------------------------

/// A sandbox's id is its folder. Others may write to /tmp: only a folder of our own counts.
fn is_sandbox(id: &CStr) -> bool {
    let rest = match id.to_bytes().strip_prefix(PREFIX.as_bytes()) {
        Some(rest) => rest,
        None => return false,
    };

    match Path::new(OsStr::from_bytes(id.to_bytes())).symlink_metadata() {
        Ok(found) => !rest.contains(&b'/') && found.is_dir() && found.uid() == unsafe { geteuid() },
        Err(_) => false,
    }
}

unsafe fn attach(call: *mut Call, id: &CStr, sandbox: *mut *mut c_void) -> Result<(), Failure> {
    if !is_sandbox(id) {
        let message = format!("there is no sandbox {}; make one with `sandlot create`", id.to_string_lossy());
        return Err(Failure::new(Status::NOT_FOUND, message));
    }
    ((*(*call).host).created)(call, id.as_ptr(), id.as_ptr());
    *sandbox = CString::from(id).into_raw().cast();
    Ok(())
}

/// The id goes to the host as soon as there is one: from then on the host deletes it if anything goes wrong.
unsafe fn create(call: *mut Call, sandbox: *mut *mut c_void) -> Result<(), Failure> {
    let mut id = format!("{}XXXXXX\0", PREFIX).into_bytes();

    if mkdtemp(id.as_mut_ptr().cast()).is_null() {
        let message = format!("cannot make a folder in /tmp: {}; make room there", Error::last_os_error());
        return Err(Failure::new(Status::EXHAUSTED, message));
    }
    attach(call, CStr::from_ptr(id.as_ptr().cast()), sandbox)
}

unsafe extern "C" fn minimal_get_or_create(
    call: *mut Call,
    _provider: *mut c_void,
    request: *const Create,
    sandbox: *mut *mut c_void,
) -> Status {
    guarded(call, || match text((*request).sandbox_id) {
        Some(id) => attach(call, id, sandbox),
        None => create(call, sandbox),
    })
}

unsafe extern "C" fn minimal_release(_provider: *mut c_void, sandbox: *mut c_void) {
    drop(CString::from_raw(sandbox.cast()));
}

/// A directory that nobody may enter or write to is opened up before what is in it is removed. Links are not followed.
fn remove_all(folder: &Path) -> Result<(), Error> {
    let path = CString::new(folder.as_os_str().as_bytes())?;

    unsafe { fchmodat(AT_FDCWD, path.as_ptr(), 0o700, AT_SYMLINK_NOFOLLOW) };
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_all(&entry.path())?;
        } else {
            std::fs::remove_file(entry.path())?;
        }
    }
    std::fs::remove_dir(folder)
}

unsafe extern "C" fn minimal_delete(call: *mut Call, _provider: *mut c_void, id: *const c_char) -> Status {
    guarded(call, || {
        let id = text(id).unwrap_or_default();

        if !is_sandbox(id) {
            return Ok(());
        }
        match remove_all(Path::new(OsStr::from_bytes(id.to_bytes()))) {
            Err(fault) if fault.kind() != ErrorKind::NotFound => Err(Failure::new(
                Status::INTERNAL,
                format!("cannot delete {}: {}; remove it by hand", id.to_string_lossy(), fault),
            )),
            _ => Ok(()),
        }
    })
}

// ---- commands ------------------------------------------------------------------------------------------------------------

/// A command in a process group of its own. It is always waited for, and ended first, with all that it started, unless
/// it has ended by itself.
struct Running {
    child: Child,
    ended: bool,
}

impl Running {
    fn end_group(&self) {
        unsafe { kill(-(self.child.id() as c_int), SIGKILL) };
    }

    /// Its exit code: 128 + n for signal n.
    fn wait(&mut self) -> c_int {
        self.ended = true;
        match self.child.wait() {
            Ok(how) => how.code().unwrap_or_else(|| 128 + how.signal().unwrap_or(0)),
            Err(_) => sandlot::EXIT_UNKNOWN,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            self.end_group();
            self.wait();
        }
    }
}

/// Standard output and error go to PIPE together; of the host's environment the command gets nothing.
unsafe fn start(folder: &CStr, command: &Command, pipe: File) -> Result<Running, Error> {
    let mut shell = std::process::Command::new("/bin/sh");
    let working_dir = text(command.working_dir).unwrap_or(folder);
    let line = text(command.command).unwrap_or_default();
    let mut variable = command.environment;

    shell.args(["-c", "--"]).arg(OsStr::from_bytes(line.to_bytes()));
    shell.current_dir(OsStr::from_bytes(working_dir.to_bytes())).env_clear();
    shell.stdin(Stdio::null()).stdout(pipe.try_clone()?).stderr(pipe);
    while !variable.is_null() && !(*variable).is_null() {
        let bytes = CStr::from_ptr(*variable).to_bytes();
        if let Some(equals) = bytes.iter().position(|&byte| byte == b'=') {
            shell.env(OsStr::from_bytes(&bytes[..equals]), OsStr::from_bytes(&bytes[equals + 1..]));
        }
        variable = variable.add(1);
    }
    shell.pre_exec(|| if setpgid(0, 0) == 0 { Ok(()) } else { Err(Error::last_os_error()) });
    Ok(Running { child: shell.spawn()?, ended: false })
}

/// How the watching of a command ended.
enum End {
    Exited,
    TimedOut,
}

/// Passes output on until the command has ended. EXITED is readable then; the pipe may stay open longer, in the hands of
/// a background child, which is why its end is not waited for.
fn watch(call: &Call, command: &Command, exited: RawFd, mut pipe: File, output: &Sink) -> Result<End, Failure> {
    let begin = Instant::now();
    let limit = (command.timeout_ms > 0).then(|| Duration::from_millis(command.timeout_ms as u64));
    let watch = |fd| PollFd { fd, events: POLLIN, revents: 0 };
    let mut watched = [watch(exited), watch(pipe.as_raw_fd()), watch(call.cancel_fd)];
    let mut reads_left = 64; // after the end: a background child may go on writing for ever
    let mut buffer = [0u8; 8192];

    loop {
        let left = limit.map(|limit| limit.saturating_sub(begin.elapsed()));
        if left == Some(Duration::ZERO) {
            return Ok(End::TimedOut);
        }
        let deadline = until_deadline(call);
        if deadline == Some(Duration::ZERO) {
            let message = "the command took too long; allow it more time";
            return Err(Failure::new(Status::TIMEOUT, message));
        }
        let pause = [left, deadline].into_iter().flatten().min().unwrap_or(Duration::MAX).min(Duration::from_secs(1));
        // Rounded up, so that what is left of the last millisecond is not waited for in a busy loop.
        if unsafe { poll(watched.as_mut_ptr(), 3, pause.as_millis() as c_int + 1) } <= 0 {
            continue;
        }
        if watched[2].revents != 0 {
            let message = "the command was cancelled; run it again if it is needed";
            return Err(Failure::new(Status::CANCELLED, message));
        }
        if watched[0].revents != 0 {
            reads_left -= 1;
            if watched[1].revents == 0 || reads_left == 0 {
                return Ok(End::Exited);
            }
        }
        if watched[1].revents == 0 {
            continue;
        }
        match pipe.read(&mut buffer) {
            Err(fault) if fault.kind() == ErrorKind::Interrupted => continue,
            Ok(length) if length > 0 => {
                let status = unsafe { (output.write)(output, buffer.as_ptr().cast(), length) };
                if status != Status::OK {
                    return Err(status.into());
                }
            }
            _ => watched[1].fd = -1, // the command closed its output and goes on
        }
    }
}

unsafe fn run(
    call: *mut Call,
    folder: &CStr,
    command: &Command,
    output: &Sink,
    result: *mut Exit,
) -> Result<(), Failure> {
    let mut ends = [-1; 2];

    if pipe2(ends.as_mut_ptr(), O_CLOEXEC) < 0 {
        let message = format!("cannot make a pipe: {}; close some files", Error::last_os_error());
        return Err(Failure::new(Status::EXHAUSTED, message));
    }
    let (reading, writing) = (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1]));
    let mut running = start(folder, command, writing)
        .map_err(|fault| Failure::new(Status::EXHAUSTED, format!("cannot start a process: {}; end some", fault)))?;
    let exited = syscall(SYS_PIDFD_OPEN, running.child.id() as c_long, 0 as c_long) as c_int;
    if exited < 0 {
        let message = format!("pidfd_open: {}; Linux 5.3 is needed", Error::last_os_error());
        return Err(Failure::new(Status::DEPENDENCY_MISSING, message));
    }
    let exited = File::from_raw_fd(exited);

    match watch(&*call, command, exited.as_raw_fd(), reading, output)? {
        End::Exited => (*result).exit_code = running.wait(),
        End::TimedOut => {
            running.end_group();
            running.wait();
            (*result).exit_code = 124;
            (*result).timed_out = true;
        }
    }
    Ok(())
}

/// What cannot run is refused before anything does.
unsafe fn check(command: &Command) -> Result<(), Failure> {
    if !command.input.is_null() {
        let message = "commands here cannot be fed input; upload it as a file";
        return Err(Failure::new(Status::UNSUPPORTED, message));
    }
    match text(command.working_dir) {
        Some(folder) if !Path::new(OsStr::from_bytes(folder.to_bytes())).is_dir() => {
            let message = format!("there is no folder {} to start in; make it first", folder.to_string_lossy());
            return Err(Failure::new(Status::INVALID_ARGUMENT, message));
        }
        _ => {}
    }
    if text(command.command).unwrap_or_default().to_bytes().len() > LONGEST_COMMAND {
        let message = format!("the command is longer than {} bytes; run it from a file", LONGEST_COMMAND);
        return Err(Failure::new(Status::INVALID_ARGUMENT, message));
    }
    Ok(())
}

unsafe extern "C" fn minimal_execute(
    call: *mut Call,
    _provider: *mut c_void,
    sandbox: *mut c_void,
    command: *const Command,
    output: *const Sink,
    result: *mut Exit,
) -> Status {
    guarded(call, || {
        check(&*command)?;
        run(call, CStr::from_ptr(sandbox as *const c_char), &*command, &*output, result)
    })
}

// ---- the table -----------------------------------------------------------------------------------------------------------

static PROVIDER: Provider = Provider {
    name: b"minimal_rust\0" as *const u8 as *const c_char,
    flags: sandlot::STREAMS_OUTPUT,
    get_or_create: Some(minimal_get_or_create),
    release: Some(minimal_release),
    delete_sandbox: Some(minimal_delete),
    execute: Some(minimal_execute),
    ..NOTHING
};

entry_point!(
    minimal_rust,
    PROVIDER,
    "description = Folders in /tmp without any isolation, as an example in Rust\n",
    "working_dir = /tmp\n",
    "capabilities = streaming\n",
);
