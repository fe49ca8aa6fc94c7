//! For tests of one's own: whether a stream of events is one that the loop can give.
