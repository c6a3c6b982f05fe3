//! A lab that builds each thing once in a process, however many dispatches ask for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::model::arm::Arm;
use crate::model::outcome::RunRecord;
use crate::run::Cancel;
use crate::run::lab::{BuildFailure, Built, CannotKeep, Lab, Lane};

/// See the module.
pub struct Memo<L: Lab> {
    pub lab: L,
    built: Mutex<HashMap<String, Arc<L::Built>>>,
}

impl<L: Lab> Memo<L> {
    pub fn new(lab: L) -> Self {
        Memo { lab, built: Mutex::new(HashMap::new()) }
    }

    fn known(&self, key: &str) -> Option<Arc<L::Built>> {
        self.built.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }
}

impl<L: Lab> Lab for Memo<L> {
    type Built = Arc<L::Built>;

    fn build_key(&self, arm: &Arm) -> String {
        self.lab.build_key(arm)
    }

    fn build(&self, arm: &Arm) -> Result<Built<Arc<L::Built>>, BuildFailure> {
        let key = self.build_key(arm);
        if let Some(value) = self.known(&key) {
            return Ok(Built { value, cached: true, records: Vec::new() });
        }
        let built = self.lab.build(arm)?;
        let value = Arc::new(built.value);
        self.built.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&value));
        Ok(Built { value, cached: built.cached, records: built.records })
    }

    fn lane(&self, arm: &Arm) -> Lane {
        self.lab.lane(arm)
    }

    fn run(
        &self,
        arm: &Arm,
        repeat: u32,
        built: &Arc<L::Built>,
        cancel: &Cancel,
    ) -> Result<RunRecord, CannotKeep> {
        self.lab.run(arm, repeat, built, cancel)
    }

    fn not_built(&self, arm: &Arm, repeat: u32, failure: &BuildFailure) -> RunRecord {
        self.lab.not_built(arm, repeat, failure)
    }
}
