//! Half gates with VAES on 512-bit registers, four gates at a time.

super::in_lane::in_lane_kernels!(zmm, "vaes,avx512f,avx512bw,avx512vl,gfni,aes");
