//! A real, single-node Slurm, started by the test: a job array of shards, then the merge.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{TOOL, patient, said, text};

/// Ports of this test's own controller and node.
const PORTS: (u16, u16) = (36817, 36818);

struct Cluster {
    dir: tempfile::TempDir,
    daemons: Vec<Child>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn program(name: &str) -> PathBuf {
    let found =
        ["/usr/sbin", "/usr/bin"].iter().map(|dir| Path::new(dir).join(name)).find(|path| path.exists());
    found.unwrap_or_else(|| panic!("{name} is missing (ci/install-deps tests installs slurm-wlm and munge)"))
}

impl Cluster {
    fn start() -> Cluster {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = |name: &str| dir.path().join(name);
        for sub in ["state", "spool"] {
            fs::create_dir(path(sub)).expect("directory");
        }
        let user = nix_user();
        let host = said_by("hostname", &["-s"]);
        let memory = 512;
        let conf = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nAuthType=auth/munge\nAuthInfo=socket={munge}\nCredType=cred/munge\nSlurmUser={user}\nSlurmdUser={user}\n\
             SlurmctldPort={ctl}\nSlurmdPort={node}\nStateSaveLocation={dir}/state\nSlurmdSpoolDir={dir}/spool\n\
             SlurmctldPidFile={dir}/ctl.pid\nSlurmdPidFile={dir}/node.pid\nSlurmctldLogFile={dir}/ctl.log\nSlurmdLogFile={dir}/node.log\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\nMpiDefault=none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nReturnToService=2\nSchedulerParameters=sched_interval=1\nMinJobAge=300\n\
             NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory={memory} State=UNKNOWN\nPartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP\n",
            dir = dir.path().display(),
            munge = path("munge.sock").display(),
            ctl = PORTS.0,
            node = PORTS.1,
        );
        fs::write(path("slurm.conf"), conf).expect("slurm.conf");
        // munge takes a key that nobody else can read, and directories that nobody else can write.
        let key: Vec<u8> = (0..1024u32).map(|i| (i * 131 % 251) as u8).collect();
        fs::write(path("munge.key"), key).expect("key");
        Command::new("chmod").arg("600").arg(path("munge.key")).status().expect("chmod");
        let mut cluster = Cluster { daemons: Vec::new(), dir };
        let file = |name: &str, flag: &str| format!("{flag}={}", cluster.dir.path().join(name).display());
        let munge: Vec<String> = vec![
            "--foreground".into(),
            "--force".into(),
            file("munge.key", "--key-file"),
            file("munge.sock", "--socket"),
            file("munge.pid", "--pid-file"),
            file("munge.log", "--log-file"),
            file("munge.seed", "--seed-file"),
        ];
        cluster.daemon("munged", &munge);
        cluster.wait_for("munge.sock");
        let conf = cluster.dir.path().join("slurm.conf").display().to_string();
        cluster.daemon("slurmctld", &["-D".into(), "-f".into(), conf.clone()]);
        cluster.daemon("slurmd", &["-D".into(), "-f".into(), conf, "-N".into(), host]);
        cluster
    }

    fn daemon(&mut self, name: &str, args: &[String]) {
        let log = fs::File::create(self.dir.path().join(format!("{name}.out"))).expect("log");
        let child = Command::new(program(name))
            .args(args)
            .env("SLURM_CONF", self.dir.path().join("slurm.conf"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("log"))
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        self.daemons.push(child);
    }

    fn wait_for(&self, name: &str) {
        let end = Instant::now() + Duration::from_secs(30);
        while !self.dir.path().join(name).exists() {
            assert!(Instant::now() < end, "{name} never came: {}", self.logs());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn logs(&self) -> String {
        let names = ["munged.out", "munge.log", "slurmctld.out", "ctl.log", "slurmd.out", "node.log"];
        names
            .iter()
            .map(|name| {
                format!("== {name}\n{}\n", fs::read_to_string(self.dir.path().join(name)).unwrap_or_default())
            })
            .collect()
    }

    fn client(&self, name: &str, args: &[&str], cwd: &Path) -> (bool, String) {
        let out = Command::new(program(name))
            .args(args)
            .current_dir(cwd)
            .env("SLURM_CONF", self.dir.path().join("slurm.conf"))
            .env("PATH", path_with_tool())
            .output()
            .expect("client");
        (out.status.success(), text(&out.stdout) + &text(&out.stderr))
    }
}

fn path_with_tool() -> String {
    let tools = Path::new(TOOL).parent().expect("directory");
    format!("{}:{}", tools.display(), std::env::var("PATH").unwrap_or_default())
}

fn said_by(program: &str, args: &[&str]) -> String {
    let out = Command::new(program).args(args).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    text(&out.stdout).trim().to_owned()
}

fn nix_user() -> String {
    said_by("id", &["-un"])
}

#[test]
fn a_job_array_runs_the_shards_and_the_merge_gates() {
    let work = tempfile::tempdir().expect("tempdir");
    // One comparison cannot be cut: three matrices' worth of arms, each alone.
    let alone = patient().replace("comparison = \"smoke\"\n", "");
    fs::write(work.path().join("smoke.toml"), alone).expect("write");
    let script = said(
        work.path(),
        &["plan", "smoke.toml", "--device", "sim:a770", "--format", "slurm", "--target", "400s"],
    );
    assert!(script.contains("#SBATCH --array="), "{script}");
    // This node has as much memory as the test's configuration says; the jobs ask for none.
    fs::write(work.path().join("job.sh"), &script).expect("write");

    let cluster = Cluster::start();
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let (_, state) = cluster.client("sinfo", &["-h", "-o", "%t"], work.path());
        if state.trim() == "idle" {
            break;
        }
        assert!(Instant::now() < end, "the node is \"{}\": {}", state.trim(), cluster.logs());
        std::thread::sleep(Duration::from_millis(200));
    }
    let (fine, said_so) = cluster.client("sbatch", &["--wait", "--parsable", "job.sh"], work.path());
    let logs: String = fs::read_dir(work.path())
        .expect("work")
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(".log"))
        .map(|entry| fs::read_to_string(entry.path()).unwrap_or_default())
        .collect();
    assert!(fine, "{said_so}\n{logs}\n{}", cluster.logs());
    let merge = script.lines().find_map(|line| line.strip_prefix("# After the array: ")).expect("the merge");
    let out = Command::new("sh")
        .args(["-c", merge])
        .current_dir(work.path())
        .env("PATH", path_with_tool())
        .output()
        .expect("sh");
    assert!(out.status.success(), "{merge}: {}", text(&out.stderr));
    assert!(text(&out.stderr).contains("3 arms, 2 clean, 1 corrupt; as expected"), "{}", text(&out.stderr));
    assert!(
        fs::read_dir(work.path().join("results/smoke")).expect("results").count() > 1,
        "more than one job wrote results"
    );
}
