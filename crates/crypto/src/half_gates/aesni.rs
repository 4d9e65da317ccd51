//! Half gates with AES-NI, one gate at a time; out-of-order execution overlaps the gates.

super::in_lane::in_lane_kernels!(xmm, "aes,ssse3,sse4.1");
super::in_lane::in_lane_hashes_alone!("aes,ssse3,sse4.1");
