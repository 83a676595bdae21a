//! The `endless` binary.
fn main() {}
