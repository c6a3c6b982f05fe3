//! `repro-matrix report` on results of the real driver on the simulated device, and on damaged ones.

mod damage;
mod formats;
mod html;
mod support;
