//! One function a client. They assert inside the client; the test outside sees the exit status and the trace.

use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{SIGNALS, drm, sys};

const PAGE: usize = 4096;
const RW: i32 = libc::PROT_READ | libc::PROT_WRITE;
const ANON: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;

/// Plays the role; `false` if there is none of that name.
pub fn play(role: &str) -> bool {
    match role {
        "version" => version(),
        "identity" => identity(),
        "files" => files(),
        "other_descriptors" => other_descriptors(),
        "bad_pointers" => bad_pointers(),
        "threads" => threads(),
        "fork_and_exec" => fork_and_exec(),
        "after_exec" => after_exec(),
        "socket" => socket(),
        "killed_children" => killed_children(),
        "user_memory" => user_memory(),
        "mapping" => mapping(),
        "closed_mapping" => closed_mapping(),
        "large_objects" => large_objects(),
        "truncation" => truncation(),
        "file_fault" => file_fault(),
        "listing" => listing(),
        "close_quietly" => close_quietly(),
        "close_mapped" => close_mapped(),
        "waits" => waits(),
        "interrupted_wait" => interrupted_wait(),
        "exit_7" => std::process::exit(7),
        "killed" => sys::kill(std::process::id() as i32, libc::SIGKILL),
        "terminated_by_supervisor" => terminated_by_supervisor(),
        "leaves_child" => leaves_child(),
        "foreign_abi" => foreign_abi(),
        "many_versions" => many_versions(),
        "signals_at_start" => signals_at_start(),
        _ => return false,
    }
    true
}

fn version() {
    assert_eq!(drm::version(drm::open().as_raw_fd()), Ok("xe".to_owned()));
    let card = sys::open(c"/dev/dri/card0", libc::O_RDWR).unwrap();
    assert_eq!(drm::version(card.as_raw_fd()), Ok("xe".to_owned()));
}

fn identity() {
    let (a, b) = (drm::open(), drm::open());
    let handle = drm::create(&a, 65536).unwrap();
    // Another open has handles of its own: this number is not one of them.
    assert_eq!(drm::close(&b, handle), Err(libc::EINVAL));
    // A duplicate is the same file.
    let copy = sys::dup(&a, true);
    let number = a.as_raw_fd();
    drop(a);
    let second = drm::create(&copy, 65536).unwrap();
    assert_ne!(second, handle);
    assert_eq!(drm::close(&copy, handle), Ok(()));
    assert_eq!(drm::close(&copy, handle), Err(libc::EINVAL));
    // The number of a closed descriptor comes back as another file.
    drop(copy);
    let fresh = drm::open();
    assert_eq!(fresh.as_raw_fd(), number);
    assert_eq!(drm::close(&fresh, second), Err(libc::EINVAL));
}

fn is_node(mode: u32, rdev: (u32, u32), minor: u32) {
    assert_eq!(mode & libc::S_IFMT, libc::S_IFCHR);
    assert_eq!(rdev, (226, minor));
}

fn files() {
    let fd = drm::open();
    let by_path = c"/dev/dri/by-path/pci-0000:09:00.0-render";
    let rdev = |s: libc::stat| (libc::major(s.st_rdev), libc::minor(s.st_rdev));
    for stat in [
        sys::stat(c"/dev/dri/renderD128"),
        sys::stat(by_path),
        sys::fstat(fd.as_raw_fd()),
        sys::fstat_at(fd.as_raw_fd()),
        sys::stat(c"//dev/./dri/by-path/../renderD128"),
    ] {
        is_node(stat.st_mode, rdev(stat), 128);
    }
    let card = sys::stat(c"/dev/dri/card0");
    is_node(card.st_mode, rdev(card), 0);
    for statx in
        [sys::statx(libc::AT_FDCWD, by_path, 0), sys::statx(fd.as_raw_fd(), c"", libc::AT_EMPTY_PATH)]
    {
        is_node(statx.stx_mode.into(), (statx.stx_rdev_major, statx.stx_rdev_minor), 128);
    }
    let mut names: Vec<_> = std::fs::read_dir("/dev/dri").unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["by-path", "card0", "renderD128"]);

    // What compute-runtime and libdrm do to get from a descriptor to the PCI device.
    let link = std::fs::read_link("/sys/dev/char/226:128").unwrap();
    let device = "/sys/devices/pci0000:00/0000:00:01.0/0000:07:00.0/0000:08:01.0/0000:09:00.0";
    assert_eq!(link, Path::new(&format!("../..{}/drm/renderD128", &device[4..])));
    let real = |p: &str| std::fs::canonicalize(p).unwrap().into_os_string().into_string().unwrap();
    assert_eq!(real("/sys/class/drm/card0/device"), device);
    assert_eq!(real("/sys/bus/pci/devices/0000:09:00.0"), device);
    assert_eq!(real("/sys/dev/char/226:128/device/driver"), "/sys/bus/pci/drivers/xe");
    let read = |p: &str| std::fs::read_to_string(p).unwrap();
    assert_eq!(read("/sys/class/drm/renderD128/device/vendor"), "0x8086\n");
    assert_eq!(read("/sys/bus/pci/devices/0000:09:00.0/device"), "0x56a0\n");
    assert_eq!(read("/sys/dev/char/226:0/device/drm/card0/dev"), "226:0\n");
    // Opens from a directory descriptor, and from one of the tree.
    let dir = sys::open(c"/dev/dri", libc::O_RDONLY | libc::O_DIRECTORY).unwrap();
    let node = sys::open_at(dir.as_raw_fd(), c"renderD128", libc::O_RDWR).unwrap();
    assert_eq!(drm::version(node.as_raw_fd()), Ok("xe".to_owned()));
    let class = sys::open(c"/sys/class/drm", libc::O_RDONLY | libc::O_DIRECTORY).unwrap();
    let path = c"renderD128/device/revision";
    let file = sys::open_at(class.as_raw_fd(), path, libc::O_RDONLY).unwrap();
    let mut text = String::new();
    std::fs::File::from(file).read_to_string(&mut text).unwrap();
    assert_eq!(text, "0x08\n");
    // Names of what is open.
    let shown = |fd: &OwnedFd| std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).unwrap();
    assert_eq!(shown(&fd), Path::new("/dev/dri/renderD128"));
    assert_eq!(shown(&class), Path::new("/sys/class/drm"));
    // Opening a node by its descriptor is a new open.
    let again = format!("/proc/self/fd/{}\0", fd.as_raw_fd());
    let again = sys::open(std::ffi::CStr::from_bytes_with_nul(again.as_bytes()).unwrap(), libc::O_RDWR);
    let again = again.unwrap();
    let handle = drm::create(&fd, 65536).unwrap();
    assert_eq!(drm::close(&again, handle), Err(libc::EINVAL));

    let cannot = |path, flags| sys::open(path, flags).map(drop).unwrap_err();
    assert_eq!(cannot(c"/dev/dri/renderD129", libc::O_RDWR), libc::ENOENT);
    assert_eq!(cannot(c"/dev/dri/new", libc::O_RDWR | libc::O_CREAT), libc::ENOENT);
    assert_eq!(cannot(c"/sys/class/drm/card0/device/vendor", libc::O_RDWR), libc::EACCES);
    assert_eq!(cannot(c"/dev/dri/renderD128", libc::O_RDWR | libc::O_DIRECTORY), libc::ENOTDIR);
    assert_eq!(cannot(by_path, libc::O_RDWR | libc::O_NOFOLLOW), libc::ELOOP);
    assert_eq!(cannot(c"/dev/dri", libc::O_RDWR), libc::EISDIR);
    assert_eq!(cannot(c"/dev/dri/card0", libc::O_RDWR | libc::O_CREAT | libc::O_EXCL), libc::EEXIST);
    assert_eq!(sys::access(c"/dev/dri/renderD128", libc::R_OK | libc::W_OK), Ok(()));
    assert_eq!(sys::access(c"/dev/dri/renderD128", libc::X_OK), Err(libc::EACCES));
    assert_eq!(sys::access(c"/sys/class/drm/card1", libc::F_OK), Err(libc::ENOENT));
}

/// What `ls` asks of every file: it complains of none.
fn listing() {
    for dir in ["/dev/dri", "/dev/dri/by-path", "/sys/class/drm", "/sys/class/drm/card0/device/"] {
        let ls = std::process::Command::new("ls").args(["-la", dir]).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(ls.status.success(), "{dir}: {}", text(&ls.stderr));
        assert_eq!(text(&ls.stderr), "", "{dir}");
        assert!(text(&ls.stdout).contains(" .."), "{dir}: {}", text(&ls.stdout));
    }
    for follow in [true, false] {
        assert_eq!(sys::attribute(c"/dev/dri/renderD128", follow), Err(libc::ENODATA));
        assert_eq!(sys::attributes(c"/dev/dri/renderD128", follow), Ok(0));
        assert_eq!(sys::attributes(c"/dev/dri/renderD129", follow), Err(libc::ENOENT));
    }
    // `..` leads to the host's own directory.
    let (up, own) = (sys::stat(c"/dev/dri/.."), sys::stat(c"/dev"));
    assert_eq!((up.st_dev, up.st_ino), (own.st_dev, own.st_ino));
}

fn other_descriptors() {
    let fd = drm::open();
    // A file, a pipe and a memfd like the device's own: requests of DRM's type are not for them.
    let file = sys::open(c"/proc/self/exe", libc::O_RDONLY).unwrap();
    assert_eq!(drm::version(file.as_raw_fd()), Err(libc::ENOTTY));
    let (pipe, mut end) = std::io::pipe().unwrap();
    assert_eq!(drm::version(pipe.as_raw_fd()), Err(libc::ENOTTY));
    let twin = nix::sys::memfd::memfd_create(c"xe-sim", nix::sys::memfd::MFdFlags::empty()).unwrap();
    assert_eq!(drm::version(twin.as_raw_fd()), Err(libc::ENOTTY));
    assert_eq!(drm::version(1000), Err(libc::EBADF));
    // Other requests reach the kernel.
    end.write_all(b"12345").unwrap();
    let mut waiting = 0i32;
    assert_eq!(sys::ioctl(pipe.as_raw_fd(), libc::FIONREAD as u32, (&raw mut waiting).cast()), Ok(0));
    assert_eq!(waiting, 5);
    let mut plain = tempfile::tempfile().unwrap();
    plain.write_all(b"abc").unwrap();
    plain.rewind().unwrap();
    assert_eq!(plain.metadata().unwrap().len(), 3);
    assert_eq!(drm::version(fd.as_raw_fd()), Ok("xe".to_owned()));
}

fn bad_pointers() {
    let fd = drm::open();
    let request = |at: *mut u8| sys::ioctl(fd.as_raw_fd(), drm::VERSION, at);
    assert_eq!(request(std::ptr::null_mut()), Err(libc::EFAULT));
    assert_eq!(request(u64::MAX as *mut u8), Err(libc::EFAULT));
    let none = sys::map(PAGE, libc::PROT_NONE, ANON, -1, 0);
    assert_eq!(request(none), Err(libc::EFAULT));
    // Can be read, but the answer cannot be written.
    let constant = sys::map(PAGE, libc::PROT_READ, ANON, -1, 0);
    assert_eq!(request(constant), Err(libc::EFAULT));
    // The structure ends beyond the mapping.
    let pages = sys::map(2 * PAGE, RW, ANON, -1, 0);
    sys::unmap(pages.wrapping_add(PAGE), PAGE);
    assert_eq!(request(pages.wrapping_add(PAGE - 8)), Err(libc::EFAULT));
    assert_eq!(sys::open_null().map(drop), Err(libc::EFAULT));
    assert_eq!(drm::version(fd.as_raw_fd()), Ok("xe".to_owned()));
}

fn threads() {
    let shared = drm::open();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let shared = &shared;
            scope.spawn(move || {
                let own = drm::open();
                let fd = if n % 2 == 0 { shared } else { &own };
                for _ in 0..1000 {
                    assert_eq!(drm::version(fd.as_raw_fd()), Ok("xe".to_owned()));
                }
            });
        }
    });
}

fn many_versions() {
    let fd = drm::open();
    for _ in 0..500 {
        assert_eq!(drm::version(fd.as_raw_fd()), Ok("xe".to_owned()));
    }
}

fn fork_and_exec() {
    let fd = drm::open();
    let handle = drm::create(&fd, 65536).unwrap();
    // A forked child has the same file: what it closes is closed here too.
    let child = sys::fork(|| drm::close(&fd, handle).map_or(1, |()| 0));
    assert_eq!(sys::wait(child), 0);
    assert_eq!(drm::close(&fd, handle), Err(libc::EINVAL));
    let handle = drm::create(&fd, 65536).unwrap();
    let kept = sys::dup(&fd, false);
    drop(fd);
    let argv = super::argv();
    let status = std::process::Command::new(&argv[0])
        .args(&argv[1..])
        .env(super::ROLE, "after_exec")
        .env("XE_SIM_TEST_FD", kept.as_raw_fd().to_string())
        .env("XE_SIM_TEST_HANDLE", handle.to_string())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(super::DONE));
    assert_eq!(drm::close(&kept, handle), Err(libc::EINVAL), "the other program has closed it");
}

fn after_exec() {
    let number = |name| std::env::var(name).unwrap().parse::<u32>().unwrap();
    let fd = sys::inherited(number("XE_SIM_TEST_FD") as i32);
    assert_eq!(drm::version(fd.as_raw_fd()), Ok("xe".to_owned()));
    assert_eq!(drm::close(&fd, number("XE_SIM_TEST_HANDLE")), Ok(()));
}

fn socket() {
    let (here, there) = std::os::unix::net::UnixStream::pair().unwrap();
    let fd = drm::open();
    let handle = drm::create(&fd, 65536).unwrap();
    sys::send_fd(here.as_raw_fd(), fd.as_raw_fd());
    drop(fd);
    // Nobody has a descriptor now, and the file lives in the socket: also over the supervisor's look at what is
    // still open, which another open makes.
    drop(drm::open());
    std::thread::sleep(Duration::from_millis(600));
    let child = sys::fork(|| {
        let fd = sys::receive_fd(there.as_raw_fd());
        drm::close(&fd, handle).map_or(1, |()| 0)
    });
    assert_eq!(sys::wait(child), 0);
}

fn killed_children() {
    let fd = drm::open();
    for round in 0..20u64 {
        let child = sys::fork(|| {
            let own = drm::open();
            loop {
                if drm::version(own.as_raw_fd()).is_err() || drm::create(&own, 65536).is_err() {
                    return 1;
                }
            }
        });
        std::thread::sleep(Duration::from_micros(1000 + 173 * round));
        sys::kill(child, libc::SIGKILL);
        assert_eq!(sys::wait(child), libc::SIGKILL);
        assert_eq!(drm::version(fd.as_raw_fd()), Ok("xe".to_owned()));
    }
    // One that sleeps in a wait.
    let word = sys::map(PAGE, RW, ANON, -1, 0);
    let child = sys::fork(|| drm::wait(&fd, word, 1, i64::MAX).map_or(1, |()| 0));
    std::thread::sleep(Duration::from_millis(30));
    sys::kill(child, libc::SIGKILL);
    assert_eq!(sys::wait(child), libc::SIGKILL);
    assert_eq!(drm::version(fd.as_raw_fd()), Ok("xe".to_owned()));
}

fn user_memory() {
    let fd = drm::open();
    let vm = drm::vm(&fd);
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[1u8; 2 * PAGE]).unwrap();
    let raw = file.as_raw_fd();
    let len = 2 * PAGE;
    let r = libc::PROT_READ;
    let hole = sys::map(3 * PAGE, RW, ANON, -1, 0);
    sys::unmap(hole.wrapping_add(PAGE), PAGE);
    let bo = drm::create(&fd, 65536).unwrap();
    type Row = (&'static str, *mut u8, usize, Result<(), i32>, Result<(), i32>);
    let table: [Row; 9] = [
        // name, place, bytes, without READONLY, with READONLY
        ("anonymous rw", sys::map(len, RW, ANON, -1, 0), len, Ok(()), Ok(())),
        ("anonymous r", sys::map(len, r, ANON, -1, 0), len, Err(libc::EPERM), Ok(())),
        ("private file rw", sys::map(len, RW, libc::MAP_PRIVATE, raw, 0), len, Ok(()), Ok(())),
        ("private file r", sys::map(len, r, libc::MAP_PRIVATE, raw, 0), len, Err(libc::EPERM), Ok(())),
        ("shared file rw", sys::map(len, RW, libc::MAP_SHARED, raw, 0), len, Ok(()), Ok(())),
        ("no access", sys::map(len, libc::PROT_NONE, ANON, -1, 0), len, Err(libc::EFAULT), Err(libc::EFAULT)),
        ("hole", hole, 3 * PAGE, Err(libc::EFAULT), Err(libc::EFAULT)),
        (
            "beyond the file",
            sys::map(4 * PAGE, RW, libc::MAP_PRIVATE, raw, 0),
            4 * PAGE,
            Err(libc::EFAULT),
            Err(libc::EFAULT),
        ),
        ("object of the device", drm::map(&fd, bo, 65536), 65536, Err(libc::EFAULT), Err(libc::EFAULT)),
    ];
    for (name, at, len, write, read) in table {
        let bind = |readonly| drm::bind_userptr(&fd, vm, at as u64, len as u64, readonly);
        assert_eq!((name, bind(false)), (name, write));
        assert_eq!((name, bind(true)), (name, read), "READONLY");
    }
}

/// The memory of a closed object is nobody else's while it is mapped.
fn closed_mapping() {
    const BYTES: usize = 1 << 20;
    let fd = drm::open();
    let handle = drm::create(&fd, BYTES as u64).unwrap();
    let at = drm::map(&fd, handle, BYTES);
    sys::poke(at, 0x1234);
    drm::close(&fd, handle).unwrap();
    for _ in 0..80 {
        let other = drm::create(&fd, BYTES as u64).unwrap();
        let there = drm::map(&fd, other, BYTES);
        assert_eq!(sys::peek(there), 0);
        sys::poke(there, 0x5678);
        sys::unmap(there, BYTES);
        drm::close(&fd, other).unwrap();
    }
    assert_eq!(sys::peek(at), 0x1234);
}

/// Objects of several large pages, mapped where large pages fit, come back as zeros and with all their bytes.
fn large_objects() {
    const BYTES: usize = 5 << 20;
    const LARGE: usize = 2 << 20;
    let fd = drm::open();
    for round in 0..12u64 {
        let handle = drm::create(&fd, BYTES as u64).unwrap();
        let room = sys::map(BYTES + LARGE, libc::PROT_NONE, ANON, -1, 0);
        let at = room.map_addr(|at| at.next_multiple_of(LARGE));
        drm::map_at(&fd, handle, at, BYTES);
        let words = || (0..BYTES).step_by(512).map(|offset| at.wrapping_add(offset));
        assert_eq!(words().map(sys::peek).find(|word| *word != 0), None, "round {round}");
        words().for_each(|word| sys::poke(word, round + 1));
        assert!(words().all(|word| sys::peek(word) == round + 1));
        sys::unmap(room, BYTES + LARGE);
        drm::close(&fd, handle).unwrap();
        // Time for the wiping, so that its work is seen and not only that of the object's making.
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Under a rule that refuses user pointers to files.
fn file_fault() {
    let fd = drm::open();
    let vm = drm::vm(&fd);
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[1u8; PAGE]).unwrap();
    let bind = |at: *mut u8| drm::bind_userptr(&fd, vm, at as u64, PAGE as u64, false);
    assert_eq!(bind(sys::map(PAGE, RW, libc::MAP_PRIVATE, file.as_raw_fd(), 0)), Err(libc::ENOMEM));
    assert_eq!(bind(sys::map(PAGE, RW, ANON, -1, 0)), Ok(()));
}

/// What the device's descriptor is made of cannot be taken away from under the device.
fn truncation() {
    let fd = drm::open();
    assert!(nix::unistd::ftruncate(&fd, 0).is_err());
    assert!(nix::unistd::ftruncate(&fd, 1 << 50).is_err());
    assert_eq!(drm::version(fd.as_raw_fd()), Ok("xe".to_owned()));
}

fn mapping() {
    let fd = drm::open();
    let handle = drm::create(&fd, 65536).unwrap();
    let (a, b) = (drm::map(&fd, handle, 65536), drm::map(&fd, handle, 65536));
    assert_eq!(sys::peek(a), 0);
    sys::poke(a, 0x1234);
    assert_eq!(sys::peek(b), 0x1234);
    // A forked child shares the object, not a copy of it.
    let child = sys::fork(|| {
        sys::poke(b, 0x5678);
        0
    });
    assert_eq!(sys::wait(child), 0);
    assert_eq!(sys::peek(a), 0x5678);
}

fn close_quietly() {
    drop(drm::open());
    std::thread::sleep(Duration::from_millis(1500));
}

fn close_mapped() {
    let fd = drm::open();
    let handle = drm::create(&fd, 65536).unwrap();
    let at = drm::map(&fd, handle, 65536);
    drop(fd);
    std::thread::sleep(Duration::from_millis(800));
    sys::poke(at, 1);
    sys::unmap(at, 65536);
    std::thread::sleep(Duration::from_millis(800));
}

fn waits() {
    let fd = drm::open();
    let word = sys::map(PAGE, RW, ANON, -1, 0);
    let began = Instant::now();
    assert_eq!(drm::wait(&fd, word, 1, 50_000_000), Err(libc::ETIME));
    let waited = began.elapsed();
    assert!((50..500).contains(&waited.as_millis()), "{waited:?}");
    // While a thread waits, others are served; a plain write to memory ends the wait.
    let place = word as usize;
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let r = drm::wait(&fd, place as *mut u8, 7, 5_000_000_000);
            (r, Instant::now())
        });
        for _ in 0..200 {
            assert_eq!(drm::version(fd.as_raw_fd()), Ok("xe".to_owned()));
        }
        std::thread::sleep(Duration::from_millis(20));
        assert!(!waiter.is_finished());
        let written = Instant::now();
        sys::poke(word, 7);
        let (result, ended) = waiter.join().unwrap();
        assert_eq!(result, Ok(()));
        let late = ended.duration_since(written);
        assert!(late < Duration::from_millis(100), "woken {late:?} after the write");
    });
}

fn interrupted_wait() {
    sys::count_signal(libc::SIGUSR1);
    let fd = drm::open();
    let word = sys::map(PAGE, RW, ANON, -1, 0);
    let (pid, tid) = (std::process::id() as i32, sys::gettid());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(40));
            sys::kill_thread(pid, tid, libc::SIGUSR1);
        });
        let began = Instant::now();
        assert_eq!(drm::wait(&fd, word, 1, 10_000_000_000), Err(libc::EINTR));
        assert!(began.elapsed() < Duration::from_secs(2));
        assert_eq!(SIGNALS.load(Ordering::SeqCst), 1);
    });
}

fn terminated_by_supervisor() {
    sys::count_signal(libc::SIGTERM);
    let supervisor = std::os::unix::process::parent_id() as i32;
    let thread: i32 = std::env::var("XE_SIM_TEST_SUPERVISOR").unwrap().parse().unwrap();
    sys::kill_thread(supervisor, thread, libc::SIGTERM);
    let began = Instant::now();
    while SIGNALS.load(Ordering::SeqCst) == 0 {
        assert!(began.elapsed() < Duration::from_secs(5), "SIGTERM was not passed on");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn leaves_child() {
    let fd = drm::open();
    sys::fork(|| {
        std::thread::sleep(Duration::from_secs(20));
        drop(fd);
        0
    });
}

fn foreign_abi() {
    let child = sys::fork(|| if sys::getpid_32() == -libc::ENOSYS { 0 } else { 1 });
    let status = sys::wait(child);
    // Without 32-bit system calls in the kernel the gate itself faults.
    assert!(status == 0 || status == libc::SIGSEGV, "status {status:#x}");
}

/// SIGPIPE as a program expects it, and nothing blocked.
fn signals_at_start() {
    // The test harness is a Rust program and ignores SIGPIPE itself by now: ask one that does not.
    let status = std::process::Command::new("/bin/sh").args(["-c", "kill -PIPE $$"]).status().unwrap();
    use std::os::unix::process::ExitStatusExt as _;
    assert_eq!(status.signal(), Some(libc::SIGPIPE));
    let text = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let blocked = text.lines().find_map(|l| l.strip_prefix("SigBlk:")).unwrap().trim();
    assert_eq!(u64::from_str_radix(blocked, 16), Ok(0));
}
