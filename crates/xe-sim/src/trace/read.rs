//! Reading a line of the trace.

use serde::Deserialize;

use super::{BindOp, Event, Record};

/// A line of [`Event::Bind`]: what [`Record`] is read as, without its detour. Serde keeps each field of a tagged or flattened
/// value aside until it knows the tag, which takes longer than the reading, and a trace is mostly these.
#[derive(Deserialize)]
struct BindLine {
    seq: u64,
    t: u64,
    ev: BindTag,
    file: u64,
    vm: u32,
    op: BindOp,
    addr: u64,
    range: u64,
    #[serde(default)]
    bo: Option<u64>,
    offset: u64,
    #[serde(default)]
    cpu_addr: Option<u64>,
    flags: u32,
    errno: i32,
}

/// Any other tag is an error, and the line is read as what it is.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum BindTag {
    Bind,
}

impl Record {
    /// Reads one line, with or without its end. The error says at which column it is not a record of this version.
    pub fn read(line: &[u8]) -> Result<Record, serde_json::Error> {
        match serde_json::from_slice::<BindLine>(line) {
            Ok(bind) => Ok(bind.into()),
            Err(_) => serde_json::from_slice(line),
        }
    }
}

impl From<BindLine> for Record {
    fn from(line: BindLine) -> Record {
        let BindLine {
            seq,
            t,
            ev: BindTag::Bind,
            file,
            vm,
            op,
            addr,
            range,
            bo,
            offset,
            cpu_addr,
            flags,
            errno,
        } = line;
        let event = Event::Bind { file, vm, op, addr, range, bo, offset, cpu_addr, flags, errno };
        Record { seq, t, event }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What serde makes of it, by the detour.
    fn by_tag(line: &str) -> Option<Record> {
        serde_json::from_str(line).ok()
    }

    #[test]
    fn lines_are_read_as_the_type_says() {
        let bind = r#"{"seq":1,"t":2,"ev":"bind","file":3,"vm":4,"op":"map_userptr","addr":5,"range":6,"bo":7,"offset":8,"cpu_addr":9,"flags":10,"errno":11}"#;
        let event = Event::Bind {
            file: 3,
            vm: 4,
            op: BindOp::MapUserptr,
            addr: 5,
            range: 6,
            bo: Some(7),
            offset: 8,
            cpu_addr: Some(9),
            flags: 10,
            errno: 11,
        };
        assert_eq!(Record::read(bind.as_bytes()).unwrap(), Record { seq: 1, t: 2, event });
        let last = r#"{"file":3,"vm":4,"op":"unmap","addr":5,"range":6,"offset":8,"flags":10,"errno":-11,"t":2,"seq":1,"ev":"bind","new":{}}"#;
        let other = r#"{"seq":1,"t":2,"ev":"gem_close","file":3,"handle":4,"bo":5,"still_bound":true}"#;
        for line in [bind, last, other] {
            assert_eq!(Record::read(line.as_bytes()).ok(), by_tag(line), "{line}");
            assert!(by_tag(line).is_some(), "{line}");
        }
    }

    #[test]
    fn what_is_no_record_is_none_here_either() {
        let whole = r#"{"seq":1,"t":2,"ev":"bind","file":3,"vm":4,"op":"map","addr":5,"range":6,"offset":8,"flags":10,"errno":0}"#;
        assert!(Record::read(whole.as_bytes()).is_ok());
        let cuts = (0..whole.len()).filter_map(|end| whole.get(..end)).map(str::to_owned);
        let changes = ["\"vm\":-4", "\"vm\":\"4\"", "\"op\":\"mop\"", "\"ev\":\"bond\"", "\"vm\":4,\"vm\":4"]
            .map(|to| {
                let key = to.get(..5).unwrap_or_default();
                let from =
                    whole.split(['{', ',', '}']).find(|field| field.starts_with(key)).unwrap_or_default();
                whole.replace(from, to)
            });
        for line in cuts.chain(changes) {
            assert!(Record::read(line.as_bytes()).is_err() && by_tag(&line).is_none(), "{line}");
        }
    }
}
