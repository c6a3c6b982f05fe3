//! A loopback HTTP server for files: ranges, and on request a connection that breaks in the middle.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Serves `root` until the test ends.
pub struct Server {
    pub address: String,
    /// "GET /a.deb bytes=0-" for every request.
    pub seen: Arc<Mutex<Vec<String>>>,
    /// Names whose next transfer breaks after half.
    breaks: Arc<Mutex<BTreeSet<String>>>,
}

impl Server {
    pub fn start(root: &Path) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let address = format!("http://{}", listener.local_addr().expect("address"));
        let (seen, breaks) = (Arc::default(), Arc::default());
        let server = Server { address, seen: Arc::clone(&seen), breaks: Arc::clone(&breaks) };
        let root = root.to_owned();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (root, seen, breaks) = (root.clone(), Arc::clone(&seen), Arc::clone(&breaks));
                // A client that goes away ends its own answer only.
                std::thread::spawn(move || drop(answer(stream, &root, &seen, &breaks)));
            }
        });
        server
    }

    /// The next transfer of a file whose name contains `name` ends after half of its bytes.
    pub fn break_once(&self, name: &str) {
        self.breaks.lock().expect("no panic").insert(name.to_owned());
    }
}

fn answer(
    mut stream: TcpStream,
    root: &Path,
    seen: &Mutex<Vec<String>>,
    breaks: &Mutex<BTreeSet<String>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut from = 0_u64;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        let lower = line.to_ascii_lowercase();
        if let Some(range) = lower.trim().strip_prefix("range: bytes=") {
            from = range.split('-').next().and_then(|n| n.parse().ok()).unwrap_or(0);
        }
        line.clear();
    }
    let name = request.split(' ').nth(1).unwrap_or("/").to_owned();
    seen.lock().expect("no panic").push(format!("GET {name} from {from}"));
    let path: PathBuf = root.join(name.trim_start_matches('/'));
    let Ok(mut file) = std::fs::File::open(&path) else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(from))?;
    let head = match from {
        0 => format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n"),
        _ => format!(
            "HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes {from}-{}/{size}\r\n",
            size - from,
            size - 1
        ),
    };
    stream.write_all(format!("{head}Accept-Ranges: bytes\r\nConnection: close\r\n\r\n").as_bytes())?;
    let broken = {
        let mut breaks = breaks.lock().expect("no panic");
        let hit = breaks.iter().find(|part| name.contains(part.as_str())).cloned();
        hit.is_some_and(|part| breaks.remove(&part))
    };
    let bytes = if broken { (size - from) / 2 } else { size - from };
    std::io::copy(&mut file.take(bytes), &mut stream)?;
    Ok(())
}
