// Atomics of both widths on global and local memory.
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define K __attribute__((intel_reqd_sub_group_size(SG))) __kernel void

K global_atomics(__global int *o, __global uint *u, __global const int *a) {
    size_t i = get_global_id(0);
    int x = a[i];
    o[i] = atomic_add(&o[x], x) + atomic_sub(o, 2) + atomic_inc(o + 1) + atomic_dec(o + 2) + atomic_min(o + 3, x) +
           atomic_max(o + 4, x) + atomic_and(o + 5, x) + atomic_or(o + 6, x) + atomic_xor(o + 7, x) +
           atomic_xchg(o + 8, x) + atomic_cmpxchg(o + 9, x, 3);
    atomic_max(u, (uint)x);
    atomic_min(u + 1, (uint)x);
}
K local_atomics(__global int *o, __local int *l, __global const int *a) {
    size_t i = get_global_id(0);
    l[get_local_id(0)] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(l + (a[i] & 31), 1);
    atomic_cmpxchg(l, 1, 2);
    barrier(CLK_LOCAL_MEM_FENCE);
    o[i] = l[get_local_id(0)];
}
K atomics64(__global long *o, __global const int *a) {
    size_t i = get_global_id(0);
    o[i] = atom_add(o, (long)a[i]) + atom_xchg(o + 1, 5L) + atom_cmpxchg(o + 2, 1L, (long)a[i]);
}
K float_exchange(__global float *o, volatile __global float *p) {
    size_t i = get_global_id(0);
    o[i] = atomic_xchg(p, o[i]);
}
