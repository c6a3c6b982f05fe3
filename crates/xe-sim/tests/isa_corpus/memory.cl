// Private arrays indexed at run time, by-value argument blocks, local memory, barriers, vectors, all address spaces.
#define K __attribute__((intel_reqd_sub_group_size(SG))) __kernel void

typedef struct {
    ulong input[64];
    ulong geometry[64];
    ulong rest[32];
} Meta;
K argument_block(__global uint *out, Meta m, uint n) {
    uint t = get_global_id(0), b = get_group_id(1);
    if (t >= n) return;
    __global const uint *in = (__global const uint *)m.input[b];
    out[(uint)m.geometry[b] + t] = in[t] + 3;
}
K private_array(__global int *o, __global const int *a, int n) {
    int p[48];
    for (int j = 0; j < 48; j++) p[j] = a[j] + n;
    size_t i = get_global_id(0);
    for (int j = 0; j < n; j++) p[(a[i + j] & 47)] ^= p[j % 48];
    o[i] = p[n % 48] + p[a[i] & 15];
}
K private_small(__global int *o, __global const int *a, int n) {
    int p[6];
    for (int j = 0; j < 6; j++) p[j] = a[j];
    o[get_global_id(0)] = p[n % 6] + p[a[n] % 6];
}
K local_reduce(__global float *o, __global const float *a, __local float *t) {
    size_t l = get_local_id(0), i = get_global_id(0);
    t[l] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t s = get_local_size(0) / 2; s; s >>= 1) {
        if (l < s) t[l] += t[l + s];
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    if (!l) o[get_group_id(0)] = t[0];
    mem_fence(CLK_GLOBAL_MEM_FENCE);
}
K local_types(__global uchar *o, __global const ushort *a, __local uchar *t, __local ushort *u, __local ulong *v) {
    size_t l = get_local_id(0), i = get_global_id(0);
    t[l] = a[i];
    u[l] = a[i] * 3;
    v[l] = a[i] * 5ul;
    barrier(CLK_LOCAL_MEM_FENCE);
    o[i] = t[l ^ 1] + u[l ^ 2] + v[l ^ 3];
}
K vectors(__global float4 *o, __global const float4 *a, __global const uchar8 *b, __global short3 *c) {
    size_t i = get_global_id(0);
    float4 x = a[i].wzyx + convert_float4(b[i].lo);
    o[i] = x * dot(x, a[i + 1]) + vload4(i, (__global const float *)b);
    vstore3(convert_short3_sat(x.xyz), i, (__global short *)c);
    o[i].even = cross(x, a[i]).xy;
}
K wide(__global ulong4 *o, __global const ulong4 *a) {
    size_t i = get_global_id(0);
    o[i] = a[i] + a[i + 1].yxwz;
}
__constant int table[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
K constants(__global int *o, __constant float *c, __global const uchar *b) {
    size_t i = get_global_id(0);
    o[i] = table[b[i] & 15] + (int)c[i];
}
K generic_pointer(__global int *o, __global int *a, __local int *l, int n) {
    int p = n;
    int *q = n > 3 ? (int *)a : n > 1 ? (int *)l : &p;
    *q += get_global_id(0);
    o[get_global_id(0)] = *q + get_local_id(1) * get_num_groups(2) + get_global_offset(0);
}
