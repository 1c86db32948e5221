//! Sandlot's provider ABI, major version 1, for Rust: the structs of `sandlot/provider.h`, the note, and what keeps a
//! provider's promises. Take this file along; it needs nothing but `std`, and works with Rust 1.63.
//!
//! The header is the manual: what each function must do, who owns what, what may run at the same time. This file only
//! says how that looks from Rust.
//!
//! * A provider's table is a `static Provider`, with functions of the types below; `None` is what it cannot do.
//! * [`entry_point!`] writes the note and exports the entry function.
//! * [`guarded`] goes around the body of every function that the host calls: a panic must not unwind into C.
//! * Read or write a field that is newer than ABI 1.0 only after [`has!`] says that the other side has it.

#![allow(dead_code)] // a provider uses what it needs

use std::ffi::{c_void, CStr, CString};
use std::os::raw::{c_char, c_int};
use std::panic::{catch_unwind, AssertUnwindSafe};

pub const ABI_MAJOR: u32 = 1;
pub const ABI_MINOR: u32 = 4;

/// What became of a call. A number and no `enum`: what comes from C may be one that this file does not know.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status(pub u32);

impl Status {
    pub const OK: Status = Status(0);
    pub const NOT_FOUND: Status = Status(1);
    pub const AUTH: Status = Status(2);
    pub const INVALID_ARGUMENT: Status = Status(3);
    pub const UNSUPPORTED: Status = Status(4);
    pub const UNAVAILABLE: Status = Status(5);
    pub const TIMEOUT: Status = Status(6);
    pub const CANCELLED: Status = Status(7);
    pub const EXHAUSTED: Status = Status(8);
    pub const DEPENDENCY_MISSING: Status = Status(9);
    pub const INTERNAL: Status = Status(10);
}

// enum sandlot_log_level
pub const LOG_ERROR: u32 = 0;
pub const LOG_WARNING: u32 = 1;
pub const LOG_INFO: u32 = 2;
pub const LOG_DEBUG: u32 = 3;

/// One call: valid until the function returns.
#[repr(C)]
pub struct Call {
    pub size: usize,
    pub host: *const Host,
    pub deadline_ms: i64,
    pub cancel_fd: c_int,
}

/// The services that the host lends.
#[repr(C)]
pub struct Host {
    pub size: usize,
    pub abi_major: u32,
    pub abi_minor: u32,
    pub fail: unsafe extern "C" fn(*mut Call, Status, *const c_char) -> Status,
    pub log: unsafe extern "C" fn(*mut Call, u32, *const c_char),
    pub environment: unsafe extern "C" fn(*mut Call, *const c_char) -> *const c_char,
    pub progress: unsafe extern "C" fn(*mut Call, *const c_char, u64, u64),
    pub created: unsafe extern "C" fn(*mut Call, *const c_char, *const c_char),
}

// enum sandlot_parameter_kind, with the type in which `open` receives each
pub const PARAMETER_STRING: u32 = 1; // *const c_char, null if absent
pub const PARAMETER_PATH: u32 = 2; // *const c_char
pub const PARAMETER_INTEGER: u32 = 3; // i64, ABSENT_INTEGER if absent
pub const PARAMETER_FLOAT: u32 = 4; // f64, NaN if absent
pub const PARAMETER_BOOLEAN: u32 = 5; // bool
pub const PARAMETER_ARRAY: u32 = 6; // *const c_char, JSON
pub const PARAMETER_TABLE: u32 = 7; // *const c_char, JSON
pub const ABSENT_INTEGER: i64 = i64::MIN;

// enum sandlot_parameter_flag
pub const FLAG_OPTIONAL: u32 = 0;
pub const FLAG_REQUIRED: u32 = 1;
pub const FLAG_SECRET: u32 = 2;

#[repr(C)]
pub struct Parameter {
    pub size: usize,
    pub name: *const c_char,
    pub kind: u32,
    pub flags: u32,
    pub default_text: *const c_char,
    pub help: *const c_char,
}

/// Comes in arrays, and so never grows.
#[repr(C)]
pub struct Label {
    pub key: *const c_char,
    pub value: *const c_char,
}

pub const CREATE_KEEP: u32 = 1; // enum sandlot_create_flag

#[repr(C)]
pub struct Create {
    pub size: usize,
    pub sandbox_id: *const c_char,
    pub snapshot: *const c_char,
    pub run_label: *const c_char,
    pub labels: *const Label,
    pub label_count: usize,
    pub idle_ttl_ms: i64,
    pub hard_ttl_ms: i64,
    pub flags: u32,
    pub network: *const Network,
    pub volumes: *const Volume,
    pub volume_count: usize,
}

pub const VOLUME_READ_ONLY: u32 = 1;
pub const VOLUME_MANY_WRITERS: u32 = 2;

/// Comes in arrays, and so never grows.
#[repr(C)]
pub struct Volume {
    pub name: *const c_char,
    pub path: *const c_char,
    pub limit_bytes: u64,
    pub flags: u32,
}

#[repr(C)]
pub struct ListedVolume {
    pub size: usize,
    pub name: *const c_char,
    pub bytes: u64,
    pub limit_bytes: u64,
    pub writers: u32,
    pub readers: u32,
    pub used_at_ms: i64,
}

#[repr(C)]
pub struct VolumeListing {
    pub size: usize,
    pub context: *mut c_void,
    pub add: unsafe extern "C" fn(*const VolumeListing, *const ListedVolume) -> Status,
    pub next: unsafe extern "C" fn(*const VolumeListing, *const c_char),
}

#[repr(C)]
pub struct NetworkEntry {
    pub kind: c_int,
    pub text: *const c_char,
    pub port: u16,
}

#[repr(C)]
pub struct NetworkCredential {
    pub host: *const c_char,
    pub header: *const c_char,
    pub value: *const c_char,
    pub placeholder_name: *const c_char,
    pub placeholder: *const c_char,
    pub plain: bool,
}

#[repr(C)]
pub struct Network {
    pub size: usize,
    pub mode: c_int,
    pub entries: *const NetworkEntry,
    pub entry_count: usize,
    pub credentials: *const NetworkCredential,
    pub credential_count: usize,
    pub trusted_file: *const c_char,
}

#[repr(C)]
pub struct NetworkView {
    pub size: usize,
    pub context: *mut c_void,
    pub tell: unsafe extern "C" fn(*const NetworkView, *const Network, *const c_char),
    pub broken: unsafe extern "C" fn(*const NetworkView), // since ABI 1.3
}

#[repr(C)]
pub struct NetworkDecision {
    pub size: usize,
    pub number: u64,
    pub at_ms: i64,
    pub allowed: bool,
    pub port: u16,
    pub host: *const c_char,
    pub rule: *const c_char,
    pub reason: *const c_char,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub duration_ms: i64,
}

#[repr(C)]
pub struct NetworkLog {
    pub size: usize,
    pub context: *mut c_void,
    pub add: unsafe extern "C" fn(*const NetworkLog, *const NetworkDecision) -> Status,
}

#[repr(C)]
pub struct Changes {
    pub size: usize,
    pub context: *mut c_void,
    pub base: unsafe extern "C" fn(*const Changes, *const c_char, i64),
    pub add: unsafe extern "C" fn(*const Changes, *const c_char) -> Status,
}

#[repr(C)]
pub struct Source {
    pub size: usize,
    pub context: *mut c_void,
    pub read: unsafe extern "C" fn(*const Source, *mut c_void, usize, *mut usize) -> Status,
    pub poll_fd: c_int,
}

#[repr(C)]
pub struct Sink {
    pub size: usize,
    pub context: *mut c_void,
    pub write: unsafe extern "C" fn(*const Sink, *const c_void, usize) -> Status,
}

#[repr(C)]
pub struct Command {
    pub size: usize,
    pub command: *const c_char,
    pub working_dir: *const c_char,
    pub environment: *const *const c_char,
    pub timeout_ms: i64,
    pub input: *const Source,
    pub flags: u32,
}

pub const EXIT_UNKNOWN: c_int = -1;

#[repr(C)]
pub struct Exit {
    pub size: usize,
    pub exit_code: c_int,
    pub timed_out: bool,
    pub note: *const c_char,
}

#[repr(C)]
pub struct Listed {
    pub size: usize,
    pub id: *const c_char,
    pub state: *const c_char,
    pub created_at_ms: i64,
    pub run_label: *const c_char,
}

#[repr(C)]
pub struct Listing {
    pub size: usize,
    pub context: *mut c_void,
    pub add: unsafe extern "C" fn(*const Listing, *const Listed) -> Status,
    pub next: unsafe extern "C" fn(*const Listing, *const c_char),
}

/// Comes in arrays, and so never grows.
#[repr(C)]
pub struct File {
    pub size: usize,
    pub path: *const c_char,
    pub source: *const Source,
    pub length: u64,
    pub mode: u32,
    pub sink: *const Sink,
}

#[repr(C)]
pub struct Transfer {
    pub size: usize,
    pub context: *mut c_void,
    pub done: unsafe extern "C" fn(*const Transfer, usize, *const c_char, u64),
}

#[repr(C)]
pub struct Root {
    pub size: usize,
    pub fd: c_int,
    pub uid: u32,
    pub gid: u32,
    pub alive_fd: c_int,
}

#[repr(C)]
pub struct Terminal {
    pub size: usize,
    pub command: *const Command,
    pub output: *const Sink,
    pub term: *const c_char,
    pub resized_fd: c_int,
    pub context: *mut c_void,
    pub window: unsafe extern "C" fn(*const Terminal, *mut u16, *mut u16),
}

/// One connection to a port of a sandbox. ABI 1.3.
#[repr(C)]
pub struct Connection {
    pub size: usize,
    pub port: u16,
    pub input: *const Source,
    pub output: *const Sink,
    pub context: *mut c_void,
    pub opened: unsafe extern "C" fn(*const Connection),
    pub closed: unsafe extern "C" fn(*const Connection),
}

/// The vendor's address of a port. ABI 1.3.
#[repr(C)]
pub struct PortAddress {
    pub size: usize,
    pub url: *const c_char,
    pub header: *const c_char,
    pub expires_at_ms: i64,
    pub is_public: bool,
}

/// ABI 1.3.
#[repr(C)]
pub struct PortAnswer {
    pub size: usize,
    pub context: *mut c_void,
    pub found: unsafe extern "C" fn(*const PortAnswer, *const PortAddress),
}

// enum sandlot_provider_flag
pub const SERIAL_SANDBOX: u32 = 1;
pub const STREAMS_OUTPUT: u32 = 2;
pub const ENDS_WITH_POWER: u32 = 4;

pub type OnSandbox = unsafe extern "C" fn(*mut Call, *mut c_void, *mut c_void) -> Status;
pub type OnId = unsafe extern "C" fn(*mut Call, *mut c_void, *const c_char) -> Status;
pub type OnListing = unsafe extern "C" fn(*mut Call, *mut c_void, *const c_char, *const Listing) -> Status;
pub type OnFiles =
    unsafe extern "C" fn(*mut Call, *mut c_void, *mut c_void, *const File, usize, *const Transfer) -> Status;

/// The table. `open` has one argument per parameter behind the first two; cast it with `std::mem::transmute`.
#[repr(C)]
pub struct Provider {
    pub size: usize,
    pub abi_major: u32,
    pub abi_minor: u32,
    pub name: *const c_char,
    pub flags: u32,
    pub parameters: *const Parameter,
    pub parameter_count: usize,
    pub open: Option<unsafe extern "C" fn()>,
    pub close: Option<unsafe extern "C" fn(*mut c_void)>,
    pub get_or_create: Option<unsafe extern "C" fn(*mut Call, *mut c_void, *const Create, *mut *mut c_void) -> Status>,
    pub ready: Option<OnSandbox>,
    pub release: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    pub delete_sandbox: Option<OnId>,
    pub list: Option<OnListing>,
    pub execute: Option<
        unsafe extern "C" fn(*mut Call, *mut c_void, *mut c_void, *const Command, *const Sink, *mut Exit) -> Status,
    >,
    pub upload: Option<OnFiles>,
    pub download: Option<OnFiles>,
    pub open_root: Option<unsafe extern "C" fn(*mut Call, *mut c_void, *mut c_void, *mut Root) -> Status>,
    pub terminal:
        Option<unsafe extern "C" fn(*mut Call, *mut c_void, *mut c_void, *const Terminal, *mut Exit) -> Status>,
    pub pause: Option<OnId>,
    pub resume: Option<OnId>,
    pub snapshot:
        Option<unsafe extern "C" fn(*mut Call, *mut c_void, *const c_char, *const c_char, *const Sink) -> Status>,
    pub list_snapshots: Option<OnListing>,
    pub delete_snapshot: Option<OnId>,
    pub fork: Option<unsafe extern "C" fn(*mut Call, *mut c_void, *const c_char, *const Create) -> Status>,
    pub check: Option<unsafe extern "C" fn(*mut Call, *mut c_void) -> Status>,
    pub set_network: Option<unsafe extern "C" fn(*mut Call, *mut c_void, *mut c_void, *const Network) -> Status>,
    pub show_network: Option<unsafe extern "C" fn(*mut Call, *mut c_void, *mut c_void, *const NetworkView) -> Status>,
    pub network_log: Option<unsafe extern "C" fn(*mut Call, *mut c_void, *mut c_void, u64, *const NetworkLog) -> Status>,
    pub connect_port: Option<unsafe extern "C" fn(*mut Call, *mut c_void, *mut c_void, *const Connection) -> Status>,
    pub port_url:
        Option<unsafe extern "C" fn(*mut Call, *mut c_void, *mut c_void, u16, i64, *const PortAnswer) -> Status>,
    pub changes: Option<unsafe extern "C" fn(*mut Call, *mut c_void, *mut c_void, *const Changes) -> Status>,
    pub list_volumes:
        Option<unsafe extern "C" fn(*mut Call, *mut c_void, *const c_char, *const VolumeListing) -> Status>,
    pub delete_volume: Option<OnId>,
    pub snapshot_with_base:
        Option<unsafe extern "C" fn(*mut Call, *mut c_void, *const c_char, *const c_char, *const Sink) -> Status>,
}

// What it points to is static and never written to.
unsafe impl Sync for Provider {}

/// A table that can do nothing yet, for `Provider { execute: Some(...), ..NOTHING }`.
pub const NOTHING: Provider = Provider {
    size: std::mem::size_of::<Provider>(),
    abi_major: ABI_MAJOR,
    abi_minor: ABI_MINOR,
    name: std::ptr::null(),
    flags: 0,
    parameters: std::ptr::null(),
    parameter_count: 0,
    open: None,
    close: None,
    get_or_create: None,
    ready: None,
    release: None,
    delete_sandbox: None,
    list: None,
    execute: None,
    upload: None,
    download: None,
    open_root: None,
    terminal: None,
    pause: None,
    resume: None,
    snapshot: None,
    list_snapshots: None,
    delete_snapshot: None,
    fork: None,
    check: None,
    set_network: None,
    show_network: None,
    network_log: None,
    connect_port: None,
    port_url: None,
    changes: None,
    list_volumes: None,
    delete_volume: None,
    snapshot_with_base: None,
};

/// Does the struct behind POINTER, which the other side made, have FIELD of TYPE?
#[macro_export]
macro_rules! has {
    ($pointer:expr, $type:ty, $field:ident) => {{
        let pointer: *const $type = $pointer;
        let end = std::ptr::addr_of!((*pointer).$field).add(1) as usize;
        std::ptr::addr_of!((*pointer).size).read() >= end - pointer as usize
    }};
}

// ---- the note ----------------------------------------------------------------------------------------------------------

/// An ELF note of the owner "sandlot", whose text is N bytes long; the host reads it without running anything.
#[repr(C, align(4))]
pub struct Note<const N: usize> {
    owner_size: u32,
    text_size: u32,
    kind: u32,
    owner: [u8; 8],
    text: [u8; N],
}

/// How many bytes TEXT takes in a note: a NUL behind it, and more of them up to a multiple of four.
pub const fn note_size(text: &str) -> usize {
    (text.len() + 1 + 3) / 4 * 4
}

/// The note of TEXT, which the compiler checks for what the host would refuse.
pub const fn note<const N: usize>(text: &str) -> Note<N> {
    let from = text.as_bytes();
    let mut bytes = [0u8; N];
    let mut line = 0;
    let mut i = 0;

    assert!(N == note_size(text), "the size of a note is note_size of its text");
    assert!(N <= 65536, "the note is too large");
    while i < from.len() {
        line = if from[i] == b'\n' { 0 } else { line + 1 };
        assert!(line <= 189, "a line of the note is longer than 189 bytes");
        assert!(from[i] >= b' ' || from[i] == b'\n', "the note has a control character");
        assert!(i + 1 == from.len() || from[i] != b' ' || from[i + 1] != b';', "\" ;\" would begin a comment");
        bytes[i] = from[i];
        i += 1;
    }
    Note { owner_size: 8, text_size: N as u32, kind: 1, owner: *b"sandlot\0", text: bytes }
}

/// `entry_point!(acme, PROVIDER, "description = Sandboxes of Acme\n", ...)`: writes the note, with the lines that the
/// header describes under SANDLOT_ENTRY_POINT, and exports the function `acme`, which shows the table.
#[macro_export]
macro_rules! entry_point {
    ($symbol:ident, $provider:ident, $($line:expr),* $(,)?) => {
        const NOTE_TEXT: &str =
            concat!("[", stringify!($symbol), "]\nabi = 1.4\nsymbol = ", stringify!($symbol), "\n", $($line),*);

        #[used]
        #[link_section = ".note.sandlot"]
        static NOTE: $crate::sandlot::Note<{ $crate::sandlot::note_size(NOTE_TEXT) }> = $crate::sandlot::note(NOTE_TEXT);

        #[no_mangle]
        pub extern "C" fn $symbol(_call: *mut $crate::sandlot::Call) -> *const $crate::sandlot::Provider {
            &$provider
        }
    };
}

// ---- helpers -----------------------------------------------------------------------------------------------------------

/// A call that failed, and why: one sentence for a person that says what failed, why, and what to do next.
pub struct Failure {
    pub status: Status,
    pub message: String,
}

impl Failure {
    pub fn new(status: Status, message: impl Into<String>) -> Failure {
        Failure { status, message: message.into() }
    }
}

/// A sink that wants no more, which is no fault of the provider: its status is passed on without a sentence.
impl From<Status> for Failure {
    fn from(status: Status) -> Failure {
        Failure { status, message: String::new() }
    }
}

/// Runs BODY and turns what it returns into a status, and a panic into SANDLOT_INTERNAL.
pub fn guarded(call: *mut Call, body: impl FnOnce() -> Result<(), Failure>) -> Status {
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return Status::OK,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::new(Status::INTERNAL, "a fault in the provider; report it to its author"),
    };

    if failure.message.is_empty() {
        return failure.status;
    }
    // A NUL cannot be in it, and what the host wants is one line.
    let message = failure.message.replace(|c: char| c.is_control(), " ");
    match CString::new(message) {
        Ok(message) => unsafe { ((*(*call).host).fail)(call, failure.status, message.as_ptr()) },
        Err(_) => failure.status,
    }
}

/// A string of the host's; `None` for null. It lives as long as the call, for which 'a must stand.
///
/// # Safety
/// TEXT is null or ends with NUL.
pub unsafe fn text<'a>(text: *const c_char) -> Option<&'a CStr> {
    if text.is_null() {
        None
    } else {
        Some(CStr::from_ptr(text))
    }
}
