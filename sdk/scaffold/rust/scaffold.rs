//! The provider `scaffold`: each sandbox is a folder in /tmp, in which commands run on this machine. NOTHING IS ISOLATED:
//! put the tool that you wrap in the place of mkdtemp, rm and sh. sandlot.rs stands for sandlot/provider.h.

mod sandlot;

use sandlot::{guarded, text, Call, Command, Create, Exit, Failure, Provider, Sink, Source, Status, NOTHING};
use std::ffi::{c_void, CStr, CString, OsStr};
use std::os::raw::{c_char, c_uint};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::ptr::{null, null_mut};

const PREFIX: &[u8] = b"/tmp/sandlot-scaffold-";

/// struct process_options of sandlot/sdk/process.h, which is part of the library that this is linked with: the two are of
/// one version.
#[repr(C)]
struct ProcessOptions {
    arguments: *const *const c_char,
    environment: *const *const c_char,
    clean_environment: bool,
    working_dir: *const c_char,
    input: *const Source,
    output: *const Sink,
    errors: *const Sink,
    timeout_ms: i64,
    output_limit: u64,
    failure: Status,
}

extern "C" {
    fn process_run(call: *mut Call, options: *const ProcessOptions, result: *mut Exit) -> Status;
    fn process_read(call: *mut Call, options: *const ProcessOptions, text: *mut *mut c_char, length: *mut usize) -> Status;
    fn geteuid() -> c_uint;
    fn mkdtemp(template: *mut c_char) -> *mut c_char;
}

/// WORDS end with null.
fn options(words: &[*const c_char]) -> ProcessOptions {
    ProcessOptions {
        arguments: words.as_ptr(),
        environment: null(),
        clean_environment: false,
        working_dir: null(),
        input: null(),
        output: null(),
        errors: null(),
        timeout_ms: 0,
        output_limit: 0,
        failure: Status::OK,
    }
}

fn word(text: &'static [u8]) -> *const c_char {
    text.as_ptr().cast()
}

/// The library has told the host already why.
fn outcome(status: Status) -> Result<(), Failure> {
    if status == Status::OK {
        Ok(())
    } else {
        Err(status.into())
    }
}

/// An id is its folder. Others may write to /tmp: only a folder of our own counts.
fn is_ours(id: &CStr) -> bool {
    let rest = match id.to_bytes().strip_prefix(PREFIX) {
        Some(rest) => rest,
        None => return false,
    };

    match Path::new(OsStr::from_bytes(id.to_bytes())).symlink_metadata() {
        Ok(found) => !rest.contains(&b'/') && found.is_dir() && found.uid() == unsafe { geteuid() },
        Err(_) => false,
    }
}

fn make_folder() -> Result<CString, Failure> {
    let mut id = [PREFIX, b"XXXXXX\0"].concat();

    if unsafe { mkdtemp(id.as_mut_ptr().cast()) }.is_null() {
        return Err(Failure::new(Status::EXHAUSTED, "no folder can be made in /tmp; make room there"));
    }
    CString::from_vec_with_nul(id).map_err(|_| Failure::new(Status::INTERNAL, "mkdtemp made a name that is none"))
}

unsafe extern "C" fn get_or_create(call: *mut Call, _: *mut c_void, request: *const Create, sandbox: *mut *mut c_void) -> Status {
    guarded(call, || {
        let id = match text((*request).sandbox_id) {
            Some(id) => CString::from(id),
            None => make_folder()?,
        };

        if !is_ours(&id) {
            let message = format!("there is no sandbox {}; make one with `sandlot create`", id.to_string_lossy());
            return Err(Failure::new(Status::NOT_FOUND, message));
        }
        // From here on the host deletes it if anything goes wrong.
        ((*(*call).host).created)(call, id.as_ptr(), id.as_ptr());
        *sandbox = id.into_raw().cast();
        Ok(())
    })
}

unsafe extern "C" fn release(_: *mut c_void, sandbox: *mut c_void) {
    drop(CString::from_raw(sandbox.cast()));
}

unsafe extern "C" fn delete_sandbox(call: *mut Call, _: *mut c_void, id: *const c_char) -> Status {
    guarded(call, || {
        let script = word(b"chmod -R u+rwX -- \"$1\" 2>/dev/null; rm -rf -- \"$1\"\0"); // folders may be closed
        let words = [word(b"sh\0"), word(b"-c\0"), script, word(b"sh\0"), id, null()];

        match text(id) {
            Some(name) if is_ours(name) => outcome(process_read(call, &options(&words), null_mut(), null_mut())),
            _ => Ok(()), // what is gone counts as deleted
        }
    })
}

unsafe extern "C" fn execute(
    call: *mut Call,
    _: *mut c_void,
    sandbox: *mut c_void,
    command: *const Command,
    output: *const Sink,
    result: *mut Exit,
) -> Status {
    guarded(call, || {
        let command = &*command;
        let words = [word(b"sh\0"), word(b"-c\0"), word(b"--\0"), command.command, null()];
        let working_dir = if command.working_dir.is_null() { sandbox as *const c_char } else { command.working_dir };
        let options = ProcessOptions {
            environment: command.environment,
            clean_environment: true, // nothing of the host's own goes into a sandbox
            working_dir,
            input: command.input,
            output,
            timeout_ms: command.timeout_ms,
            ..options(&words)
        };

        outcome(process_run(call, &options, result))
    })
}

static PROVIDER: Provider = Provider {
    name: b"scaffold\0" as *const u8 as *const c_char,
    flags: sandlot::STREAMS_OUTPUT,
    get_or_create: Some(get_or_create),
    release: Some(release),
    delete_sandbox: Some(delete_sandbox),
    execute: Some(execute),
    ..NOTHING
};

entry_point!(
    scaffold,
    PROVIDER,
    "description = Folders in /tmp without any isolation\n",
    "working_dir = /tmp\n",
    "capabilities = streaming\n",
);
