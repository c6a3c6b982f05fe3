use super::*;

const DEVICE: FileKey = FileKey { major: 0, minor: 1, inode: 77 };
const OTHER: FileKey = FileKey { major: 8, minor: 1, inode: 12 };

fn vma(start: u64, end: u64, perms: &str, file: Option<FileKey>) -> Vma {
    Vma {
        start,
        end,
        readable: perms.contains('r'),
        writable: perms.contains('w'),
        file,
        shared: false,
        offset: 0,
    }
}

fn run(vmas: &[Vma], addr: u64, len: u64, access: Access, eof: u64) -> Result<(), i32> {
    let next = |at: u64| Ok(vmas.iter().find(|v| v.end > at).copied());
    check_range(addr, len, access, DEVICE, next, |page| page < eof).unwrap().map_err(|e| e.0)
}

#[test]
fn verdicts_follow_the_kernel_rule() {
    let vmas = [
        vma(0x1000, 0x3000, "rw", None),
        vma(0x3000, 0x5000, "r", Some(OTHER)),
        vma(0x6000, 0x8000, "", None),
        vma(0x8000, 0xa000, "w", None),
        vma(0xa000, 0xc000, "rw", Some(DEVICE)),
        vma(0xc000, 0xe000, "rw", Some(OTHER)),
    ];
    let far = u64::MAX;
    for (addr, len, access, eof, want) in [
        (0x1000, 0x2000, Access::Write, far, Ok(())),
        (0x1000, 0x2000, Access::Read, far, Ok(())),
        // Read-only pages: only a READONLY bind may have them.
        (0x3000, 0x2000, Access::Write, far, Err(libc::EPERM)),
        (0x3000, 0x2000, Access::Read, far, Ok(())),
        // Writable, then read-only.
        (0x2000, 0x2000, Access::Write, far, Err(libc::EPERM)),
        (0x2000, 0x2000, Access::Read, far, Ok(())),
        // The first bad page decides: read-only before the hole, and the hole alone.
        (0x4000, 0x2000, Access::Write, far, Err(libc::EPERM)),
        (0x4000, 0x2000, Access::Read, far, Err(libc::EFAULT)),
        (0x0000, 0x2000, Access::Write, far, Err(libc::EFAULT)),
        // PROT_NONE, and writable without readable.
        (0x6000, 0x1000, Access::Read, far, Err(libc::EFAULT)),
        (0x8000, 0x1000, Access::Write, far, Err(libc::EFAULT)),
        // A mapping of the device itself.
        (0xa000, 0x1000, Access::Write, far, Err(libc::EFAULT)),
        // Beyond the end of the file.
        (0xc000, 0x2000, Access::Write, 0xd000, Err(libc::EFAULT)),
        (0xc000, 0x1000, Access::Write, 0xd000, Ok(())),
        // Above everything, and wrapping round.
        (0xf000, 0x1000, Access::Read, far, Err(libc::EFAULT)),
        (u64::MAX - 0xfff, 0x2000, Access::Read, far, Err(libc::EFAULT)),
    ] {
        assert_eq!(run(&vmas, addr, len, access, eof), want, "{addr:#x}+{len:#x} {access:?}");
    }
}

#[test]
fn maps_line_is_read_field_by_field() {
    let line = "7f00a000-7f00c000 r-xp 00001000 fd:1a 424242   /usr/lib/a b.so (deleted)";
    let want = Vma {
        start: 0x7f00_a000,
        end: 0x7f00_c000,
        readable: true,
        writable: false,
        file: Some(FileKey { major: 0xfd, minor: 0x1a, inode: 424_242 }),
        shared: false,
        offset: 0x1000,
    };
    assert_eq!(Vma::from_line(line), Some(want));
    let shared = Vma { shared: true, ..want };
    assert_eq!(Vma::from_line(&line.replace("r-xp", "r-xs")), Some(shared));
    assert_eq!(Vma::from_line("7f00a000 r-xp"), None);
    assert_eq!(Vma::from_line(""), None);
}

#[test]
fn text_and_query_agree_on_this_process() {
    let page = vec![0u8; 16384];
    let addr = (page.as_ptr() as u64 + 4095) & !4095;
    let code = (text_and_query_agree_on_this_process as fn()) as usize as u64 & !4095;
    for (addr, access, want) in [
        (addr, Access::Write, Ok(())),
        (code, Access::Write, Err(EPERM)),
        (code, Access::Read, Ok(())),
        (0, Access::Read, Err(EFAULT)),
    ] {
        let mut maps = Maps::open(std::process::id()).unwrap();
        let by_query = maps.check(addr, 4096, access, DEVICE, |_| true).unwrap();
        maps.use_text();
        let by_text = maps.check(addr, 4096, access, DEVICE, |_| true).unwrap();
        assert_eq!((by_query, by_text), (want, want), "{addr:#x} {access:?}");
    }
}

#[test]
fn shared_ranges_of_a_file_are_found_by_text_and_by_query() {
    use std::os::fd::AsFd as _;
    let file = nix::sys::memfd::memfd_create(c"maps", nix::sys::memfd::MFdFlags::empty()).unwrap();
    nix::unistd::ftruncate(&file, 64 << 10).unwrap();
    let map = |offset: u64| memmap2::MmapOptions::new().offset(offset).len(8 << 10).map_raw(&file).unwrap();
    let kept = (map(0), map(16 << 10));
    drop(map(32 << 10));
    let stat = sys::fstat(file.as_fd()).unwrap();
    let key = FileKey {
        major: nix::sys::stat::major(stat.st_dev) as u32,
        minor: nix::sys::stat::minor(stat.st_dev) as u32,
        inode: stat.st_ino,
    };
    let mut maps = Maps::open(std::process::id()).unwrap();
    for text in [false, true] {
        if text {
            maps.use_text();
        }
        let mut ranges = maps.shared_ranges_of(key).unwrap();
        ranges.sort_unstable();
        assert_eq!(ranges, [(0, 8 << 10), (16 << 10, 8 << 10)], "text: {text}");
        assert_eq!(maps.shared_ranges_of(OTHER).unwrap(), [], "text: {text}");
        assert!(maps.at(kept.0.as_ptr() as u64).unwrap().is_some_and(|vma| vma.file == Some(key)));
        assert_eq!(maps.at(1).unwrap(), None);
    }
}
