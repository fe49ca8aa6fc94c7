//! Laid out in the next commit.
