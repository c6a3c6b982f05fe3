use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::*;

#[test]
fn says_what_the_machine_says() {
    let found = environment();
    let uname = nix::sys::utsname::uname().expect("uname");
    assert_eq!(found.kernel.as_deref(), uname.release().to_str());
    assert!(found.memory_total >= found.memory_available && found.memory_available > 0);
    assert!(found.cores >= 1);
    assert_eq!(found.machine, environment().machine, "the same machine has the same name");
    let text = serde_json::to_string(&found).expect("json");
    let host = uname.nodename().to_str().unwrap_or_default();
    assert!(host.len() < 4 || !text.contains(host), "{text}");
}

#[test]
fn a_machine_is_the_same_after_a_kernel_update() {
    let root = tempfile::tempdir().expect("tempdir");
    let name = |memory_total: u64, cores: usize| {
        machine(root.path(), &Environment { memory_total, cores, ..Environment::default() })
    };
    // 96 MiB that one kernel keeps for itself and the other does not.
    let gib = 1_u64 << 30;
    assert_eq!(name(24 * gib - (600 << 20), 2), name(24 * gib - (696 << 20), 2));
    assert_ne!(name(24 * gib, 2), name(32 * gib, 2));
    assert_ne!(name(24 * gib, 2), name(24 * gib, 4));
}

fn plant(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().expect("parent")).expect("directory");
    fs::write(path, text).expect("write");
}

/// The machine of seed 003: NixOS, an A770 on xe, both modules loaded, resizable BAR at its full size.
fn nixos(root: &Path) {
    let device = root.join("sys/bus/pci/devices/0000:09:00.0");
    for (file, text) in [
        ("vendor", "0x8086\n"),
        ("device", "0x56a0\n"),
        ("revision", "0x08\n"),
        ("subsystem_vendor", "0x1eae\n"),
        ("subsystem_device", "0x3937\n"),
        (
            "resource",
            "0x00000000fb000000 0x00000000fbffffff 0x0000000000140204\n0x0 0x0 0x0\n0x0000007800000000 0x0000007bffffffff 0x000000000014220c\n",
        ),
        ("resource2_resize", "0000000000007f00\n"),
        ("current_link_speed", "2.5 GT/s PCIe\n"),
        ("current_link_width", "1\n"),
    ] {
        plant(&device, file, text);
    }
    fs::create_dir_all(root.join("sys/bus/pci/drivers/xe")).expect("driver");
    symlink(root.join("sys/bus/pci/drivers/xe"), device.join("driver")).expect("link");
    fs::create_dir_all(root.join("sys/class/drm/renderD128")).expect("class");
    symlink(&device, root.join("sys/class/drm/renderD128/device")).expect("link");
    plant(
        root,
        "etc/os-release",
        "NAME=NixOS\nPRETTY_NAME=\"NixOS 26.05 (Yarara)\"\nBUILD_ID=\"26.05.20260814.02e0898\"\n",
    );
    plant(root, "proc/modules", "xe 4530176 3 - Live 0x0\ni915 5103616 0 - Live 0x0\nsnd 1 0 - Live 0x0\n");
    plant(
        root,
        "proc/cmdline",
        "i915.force_probe=!56a0 xe.force_probe=56a0 root=UUID=0a1b2c3d-0000-4000-8000-0123456789ab\n",
    );
    plant(root, "proc/sys/kernel/tainted", "4096\n");
    plant(root, "dev/dri/renderD128", "");
    fs::create_dir_all(root.join("dev/dri/by-path")).expect("by-path");
    symlink("../renderD128", root.join("dev/dri/by-path/pci-0000:09:00.0-render")).expect("link");
    fs::create_dir_all(root.join("run/opengl-driver/lib")).expect("driver");
    let store = "/nix/store/abc-intel-compute-runtime-26.18.38308.1/lib/libze_intel_gpu.so.1";
    symlink(store, root.join("run/opengl-driver/lib/libze_intel_gpu.so.1")).expect("link");
}

#[test]
fn a_card_on_nixos_is_described_as_the_form_asks() {
    let root = tempfile::tempdir().expect("tempdir");
    nixos(root.path());
    let found = environment_of(root.path());
    assert_eq!(found.distribution.as_deref(), Some("NixOS 26.05 (Yarara), BUILD_ID=26.05.20260814.02e0898"));
    assert_eq!(found.modules, ["xe 4530176 3", "i915 5103616 0"]);
    assert_eq!(found.tainted, Some(4096));
    assert_eq!(found.packages, ["/nix/store/abc-intel-compute-runtime-26.18.38308.1"]);
    assert_eq!(
        found.cmdline.as_deref(),
        Some("i915.force_probe=!56a0 xe.force_probe=56a0 root=UUID=[masked]")
    );
    assert_eq!(
        found.dri,
        ["-644 0, 0 /dev/dri/renderD128", "/dev/dri/by-path/pci-0000:09:00.0-render -> ../renderD128"]
    );
    let detail = found.pci.first().expect("a device");
    // 0x7f00 = sizes from 256 MiB to 16 GiB, as lspci of the report lists them.
    assert_eq!(detail.resizable_bar().as_deref(), Some("enabled (16 GiB)"));
    assert_eq!(detail.subsystem.as_deref(), Some("1eae:3937"));
    let shown = show::text(&found, &[], &[]);
    for piece in [
        "0000:09:00.0 8086:56a0, driver xe",
        "resizable BAR enabled (16 GiB)",
        "TAINTED: 4096",
        "link 2.5 GT/s PCIe x1",
    ] {
        assert!(shown.contains(piece), "{piece} in\n{shown}");
    }
}

#[test]
fn a_small_bar_is_called_so() {
    let detail =
        PciDetail { bar2_bytes: Some(256 << 20), bar2_largest: Some(16 << 30), ..PciDetail::default() };
    assert_eq!(detail.resizable_bar().as_deref(), Some("NOT enabled (256 MiB of 16 GiB)"));
}

#[test]
fn an_empty_machine_gives_no_guess() {
    let root = tempfile::tempdir().expect("tempdir");
    let found = environment_of(root.path());
    assert_eq!((found.distribution.clone(), found.cmdline.clone(), found.tainted), (None, None, None));
    assert!(found.devices.is_empty() && found.dri.is_empty() && found.packages.is_empty());
    assert!(show::text(&found, &[], &[]).contains("no Intel render node"));
}

#[test]
fn only_variables_that_matter_are_taken() {
    let all = [
        ("HOME", "/home/x"),
        ("ZE_ENABLE_ALT_DRIVERS", "/a"),
        ("PrintXeLogs", "1"),
        ("Printer", "x"),
        ("SECRET", "s"),
    ];
    let found = files::variables(all.into_iter().map(|(n, v)| (n.to_owned(), v.to_owned())));
    assert_eq!(
        found.iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>(),
        ["PrintXeLogs", "ZE_ENABLE_ALT_DRIVERS"]
    );
}

#[test]
fn lspci_is_asked_for_the_card_alone_and_its_serial_number_is_masked() {
    use std::os::unix::fs::PermissionsExt;
    let root = tempfile::tempdir().expect("tempdir");
    nixos(root.path());
    let devices = environment_of(root.path()).devices;
    let program = root.path().join("lspci");
    // What a card says of itself there.
    let script = "#!/bin/sh\necho \"$@\"\necho '\tCapabilities: [148 v1] Device Serial Number 00-11-22-33-44-55-66-77'\necho '\tKernel driver in use: xe'\n";
    fs::write(&program, script).expect("script");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("mode");
    let told = mask(&pci::lspci(&program, &devices).expect("it is there"));
    assert!(told.starts_with("-vvv -k -s 0000:09:00.0\n"), "{told}");
    assert!(told.contains("Kernel driver in use: xe") && !told.contains("44-55"), "{told}");
    assert_eq!(pci::lspci(&root.path().join("nothing"), &devices), None);
}
