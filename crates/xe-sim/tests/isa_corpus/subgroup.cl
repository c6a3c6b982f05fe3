// Sub-group operations: shuffles, reductions, scans, votes and block accesses.
#define K __attribute__((intel_reqd_sub_group_size(SG))) __kernel void

K shuffles(__global int *o, __global const int *a) {
    size_t i = get_global_id(0);
    int x = a[i];
    o[i] = intel_sub_group_shuffle(x, a[i + 1]) + intel_sub_group_shuffle_up(x, x, 1u) +
           intel_sub_group_shuffle_down(x, x, 2u) + intel_sub_group_shuffle_xor(x, 3u) +
           sub_group_broadcast(x, 5u);
}
K reductions(__global float *o, __global int *p, __global const float *a) {
    size_t i = get_global_id(0);
    o[i] = sub_group_reduce_add(a[i]) + sub_group_scan_inclusive_max(a[i]) + sub_group_scan_exclusive_add(a[i]);
    p[i] = sub_group_reduce_min(p[i]) + sub_group_any(p[i] > 3) + sub_group_all(p[i] < 9) +
           get_sub_group_local_id() + get_sub_group_id() + get_max_sub_group_size();
    sub_group_barrier(CLK_GLOBAL_MEM_FENCE);
}
#if SG < 32
K blocks(__global uint *o, __global const uint *a) {
    uint4 x = intel_sub_group_block_read4(a + get_group_id(0) * 64);
    intel_sub_group_block_write2(o + get_group_id(0) * 32, x.xy + x.zw);
}
#endif
K work_group(__global int *o, __global const int *a) {
    size_t i = get_global_id(0);
    o[i] = work_group_reduce_add(a[i]) + work_group_scan_inclusive_min(a[i]) + work_group_broadcast(a[i], 3);
}
