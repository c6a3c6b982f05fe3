//! Lines written by the drivers' own format strings, of every era, come back as the values they were made of.

use proptest::prelude::*;
use repro_matrix::logs::neo::{self, Stream};
use repro_matrix::logs::strace;
use repro_matrix::model::facts::ERRNO_UNKNOWN;

#[derive(Clone, Copy, Debug)]
enum Form {
    Bo,
    Vm,
    DrmVmIdAlwaysErrno,
    DrmVmId,
    VmHandleId,
}

#[derive(Clone, Debug)]
struct Bind {
    form: Form,
    bind: bool,
    bo: u32,
    vm: u32,
    tile: u32,
    page: u64,
    pages: u64,
    /// 0 = success.
    errno: i32,
    stale: i32,
    prefix: u8,
}

fn canonical(address: u64) -> u64 {
    if address >> 47 & 1 == 1 { address | 0xffff << 48 } else { address }
}

impl Bind {
    fn start(&self) -> u64 {
        self.page << 12
    }

    fn size(&self) -> u64 {
        self.pages << 12
    }

    fn line(&self) -> String {
        let verb = if self.bind { "bind" } else { "unbind" };
        let to = if self.bind { "to" } else { "from" };
        let (vm, tile, bo) = (self.vm, self.tile, self.bo);
        let space = match self.form {
            Form::Bo => String::new(),
            Form::Vm => format!(" {to} VM {vm}"),
            Form::DrmVmIdAlwaysErrno | Form::DrmVmId => format!(" {to} VM {tile}, drmVmId = {vm}"),
            Form::VmHandleId => format!(" {to} VM {vm}, vmHandleId = {tile}"),
        };
        let (start, end) = (canonical(self.start()), canonical(self.start() + self.size()));
        let result = if self.errno == 0 { 0 } else { -1 };
        let always = matches!(self.form, Form::Bo | Form::Vm | Form::DrmVmIdAlwaysErrno);
        let errno = match self.errno {
            0 if always => format!(", errno: {}(whatever)", self.stale),
            0 => String::new(),
            n => format!(", errno: {n}(Opération non permise)"),
        };
        let prefix = match self.prefix {
            0 => "",
            1 => "[PID: 41877] ",
            2 => "[2026-09-01 10:22:41] ",
            _ => "[PID: 7] [2026-09-01 10:22:41] ",
        };
        let size = self.size();
        format!(
            "{prefix}{verb} BO-{bo}{space}, range: {start:x} - {end:x}, size: {size}, result: {result}{errno}"
        )
    }
}

fn bind() -> impl Strategy<Value = Bind> {
    let form = prop_oneof![
        Just(Form::Bo),
        Just(Form::Vm),
        Just(Form::DrmVmIdAlwaysErrno),
        Just(Form::DrmVmId),
        Just(Form::VmHandleId),
    ];
    let ids = (any::<bool>(), any::<u32>(), any::<u32>(), 0u32..4);
    let range = (1u64..1 << 35, 1u64..1 << 20);
    (form, ids, range, prop_oneof![Just(0), 1i32..133], 0i32..133, 0u8..4).prop_map(
        |(form, (bind, bo, vm, tile), (page, pages), errno, stale, prefix)| Bind {
            form,
            bind,
            bo,
            vm,
            tile,
            page,
            pages,
            errno,
            stale,
            prefix,
        },
    )
}

proptest! {
    #[test]
    fn bind_lines_of_every_era(bind in bind(), before in "[a-z =0-9]{0,20}") {
        let facts = neo::parse(bind.line().as_bytes(), Stream::Mixed);
        prop_assert_eq!(facts.not_understood, 0);
        prop_assert_eq!(facts.ranges.len(), 1);
        let range = &facts.ranges[0];
        let vm = if matches!(bind.form, Form::Bo) { 0 } else { bind.vm };
        prop_assert_eq!((range.vm, range.start, range.size), (vm, bind.start(), bind.size()));
        prop_assert_eq!((range.events[0].bind, range.events[0].errno), (bind.bind, bind.errno));

        // Text of the program without a newline before it changes nothing, and neither does a second line glued on.
        let glued = format!("{before}{}{}", bind.line(), bind.line());
        let again = neo::parse(glued.as_bytes(), Stream::Mixed);
        prop_assert_eq!(again.ranges.len(), 1);
        prop_assert_eq!(again.ranges[0].events.len(), 2);
        prop_assert_eq!(&again.ranges[0].events[0], &range.events[0]);
    }

    /// Cut anywhere, a line is understood rightly or counted; it never gives other numbers.
    #[test]
    fn cut_bind_lines_never_lie(bind in bind(), at in any::<prop::sample::Index>()) {
        let line = bind.line();
        let whole = neo::parse(line.as_bytes(), Stream::Mixed);
        let cut = neo::parse(&line.as_bytes()[..at.index(line.len())], Stream::Mixed);
        for range in &cut.ranges {
            prop_assert_eq!((range.vm, range.start, range.size), {
                let of = &whole.ranges[0];
                (of.vm, of.start, of.size)
            });
            // With its errno cut off a failure stays a failure.
            let (a, b) = (range.events[0].errno, whole.ranges[0].events[0].errno);
            prop_assert!(a == b || (b != 0 && a == ERRNO_UNKNOWN), "{a} from {b}");
        }
    }

    #[test]
    fn xe_lines_of_every_era(
        era in 0u8..4, vm in 0u32..1000, addr in 0u64..1 << 48, range in 1u64..1 << 40, fails in any::<bool>(),
    ) {
        let ret = if fails { -1 } else { 0 };
        let head = format!(" vm={vm} obj=0x2a off=0x0 range=0x{range:x} addr=0x{addr:x}");
        let line = match era {
            0 => format!("{head} op=131074(AS_MAP_USERPTR) nsy=1"),
            1 => format!("{head} operation=2(MAP_USERPTR) flags=0() nsy=1 pat=2 ret={ret}"),
            2 => format!("[2025-01-01 00:00:00] {head} operation=2(MAP_USERPTR) flags=1(READONLY) nsy=1 pat=2 ret={ret}"),
            _ => format!("{head} operation=2(MAP_USERPTR) flags=0() nsy=1 num_bind=1 pat=2 ret={ret}"),
        };
        let facts = neo::parse(line.as_bytes(), Stream::Stderr);
        prop_assert_eq!(facts.not_understood, 0);
        let outcome = facts.xe.operations["MAP_USERPTR"];
        prop_assert_eq!(
            (outcome.ok, outcome.failed, outcome.not_said),
            (u64::from(era != 0 && !fails), u64::from(era != 0 && fails), u64::from(era == 0))
        );
        if era != 0 {
            let got = &facts.xe.ranges[0];
            prop_assert_eq!((got.vm, got.start, got.size), (vm, addr, range));
        }
    }

    #[test]
    fn per_dispatch_and_keys(flag in 0u64..2, a in any::<u64>(), b in 0u64..9, c in any::<u64>(), value in "[!-~]{1,20}") {
        let log = format!(
            "Private Memory Per Dispatch {flag} for modulePrivateMemorySize {a} subDevices {b} globalMemorySize {c}\n\
             Non-default value of debug variable: SomeKey = {value}\n"
        );
        let facts = neo::parse(log.as_bytes(), Stream::Stderr);
        let got = facts.per_dispatch[0];
        prop_assert_eq!(
            (got.flag, got.module_private, got.sub_devices, got.global_memory), (flag == 1, a, b, c)
        );
        prop_assert_eq!(&facts.accepted_keys["SomeKey"], &value);
    }

    /// The numbers decide what a request is, in whatever form strace prints the call.
    #[test]
    fn raw_requests(pid in 1u32..99999, form in 0u8..5, errno in prop_oneof![Just(""), Just("EPERM"), Just("ENOMEM")]) {
        let result = if errno.is_empty() { "0".to_owned() } else { format!("-1 {errno} (Texte localisé = rien)") };
        let call = "_IOC(_IOC_WRITE, 0x64, 0x45, 0x88)";
        let line = match form {
            0 => format!("ioctl(3, {call}, 0x7ffe) = {result}"),
            1 => format!("[pid {pid}] ioctl(3</dev/dri/renderD128>, {call}, 0x7ffe) = {result} <0.000012>"),
            2 => format!("{pid} 12:00:00.123456 ioctl(3, DRM_IOCTL_XE_VM_BIND, 0x7ffe) = {result}"),
            3 => format!("[pid {pid}] 1700000000.123456 ioctl(3, {call} <unfinished ...>\n[pid {pid}] 1700000000.2 <... ioctl resumed>, 0x7ffe) = {result}"),
            _ => format!("     0.000012 ioctl(3<char 226:128</dev/dri/renderD128>>, DRM_IOCTL_XE_VM_BIND, 0x7ffe) = {result}"),
        };
        let facts = strace::parse(line.as_bytes());
        prop_assert_eq!(facts.not_understood, 0, "{}", line);
        let got = &facts.ioctls["XE_VM_BIND"];
        prop_assert_eq!(got.calls, 1);
        prop_assert_eq!(got.errors.get(errno).copied().unwrap_or(0), u64::from(!errno.is_empty()));
        prop_assert_eq!(got.errors.len(), usize::from(!errno.is_empty()));
    }
}
