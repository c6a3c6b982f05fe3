// Whole small programs, as they are found in samples: each has its result computed by the test on the host.
#define K __attribute__((intel_reqd_sub_group_size(SG))) __kernel void

K vector_add(__global float *c, __global const float *a, __global const float *b, uint n) {
    uint i = get_global_id(0);
    if (i < n) c[i] = a[i] + b[i];
}
K ids(__global uint *o) {
    size_t gx = get_global_size(0), gy = get_global_size(1);
    size_t at = get_global_id(0) + gx * (get_global_id(1) + gy * get_global_id(2));
    o[2 * at] = get_local_id(0) | get_local_id(1) << 8 | get_local_id(2) << 16;
    o[2 * at + 1] = get_group_id(0) | get_group_id(1) << 8 | get_group_id(2) << 16;
}
K reduce(__global uint *o, __global const uint *a, __local uint *t) {
    uint l = get_local_id(0);
    t[l] = a[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = get_local_size(0) / 2; s; s >>= 1) {
        if (l < s) t[l] += t[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (!l) o[get_group_id(0)] = t[0];
}
K matmul(__global float *c, __global const float *a, __global const float *b, uint n) {
    uint x = get_global_id(0), y = get_global_id(1);
    float s = 0;
    for (uint k = 0; k < n; k++) s = fma(a[y * n + k], b[k * n + x], s);
    c[y * n + x] = s;
}
K matmul_tiled(__global float *c, __global const float *a, __global const float *b, uint n) {
    __local float ta[16][16], tb[16][16];
    uint lx = get_local_id(0), ly = get_local_id(1), x = get_global_id(0), y = get_global_id(1);
    float s = 0;
    for (uint k = 0; k < n; k += 16) {
        ta[ly][lx] = a[y * n + k + lx];
        tb[ly][lx] = b[(k + ly) * n + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint j = 0; j < 16; j++) s = fma(ta[ly][j], tb[j][lx], s);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[y * n + x] = s;
}
K histogram(__global uint *bins, __global const uint *a, __local uint *l) {
    for (uint j = get_local_id(0); j < 64; j += get_local_size(0)) l[j] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&l[a[get_global_id(0)] & 63]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint j = get_local_id(0); j < 64; j += get_local_size(0)) atomic_add(&bins[j], l[j]);
}
K atomics(__global int *x, __global int *old, __global const int *a) {
    uint i = get_global_id(0);
    int v = a[i];
    atomic_add(&x[0], v);
    atomic_sub(&x[1], v);
    atomic_min(&x[2], v);
    atomic_max(&x[3], v);
    atomic_min((volatile __global uint *)&x[4], (uint)v);
    atomic_max((volatile __global uint *)&x[5], (uint)v);
    atomic_and(&x[6], v);
    atomic_or(&x[7], v);
    atomic_xor(&x[8], v);
    atomic_xchg(&x[16 + (i & 15)], v);
    old[i] = atomic_cmpxchg(&x[32 + (i & 31)], (int)(i & 31), v);
}
K float_atomics(__global atomic_float *x, __global float *old, __global const float *a, __local atomic_float *l) {
    uint i = get_global_id(0);
    old[i] = atomic_fetch_add_explicit(x, a[i], memory_order_relaxed, memory_scope_device);
    atomic_fetch_min_explicit(x + 1, a[i], memory_order_relaxed, memory_scope_device);
    atomic_fetch_max_explicit(x + 2, a[i], memory_order_relaxed, memory_scope_device);
    if (get_local_id(0) == 0) *(__local float *)l = 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_fetch_max_explicit(l, a[i], memory_order_relaxed, memory_scope_work_group);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) ((__global float *)x)[3 + get_group_id(0)] = *(__local float *)l;
}
K private_array(__global uint *o, __global const uint *a, uint n) {
    uint p[48];
    for (uint j = 0; j < 48; j++) p[j] = a[j] + n;
    uint i = get_global_id(0);
    for (uint j = 0; j < n; j++) p[a[i + j] & 31] ^= p[j % 48] + i;
    o[i] = p[n % 48] + p[a[i] & 15];
}
K collatz(__global uint *o, __global const uint *a) {
    uint i = get_global_id(0), v = a[i] % 4096u + 1, steps = 0;
    while (v != 1) {
        if (v & 1)
            v = 3 * v + 1;
        else
            v >>= 1;
        if (++steps == 100) break;
    }
    o[i] = steps << 16 | (v & 0xffff);
}
K flow(__global int *o, __global const int *a, int n) {
    uint i = get_global_id(0);
    int s = 0;
    for (int j = 0; j < n; j++) {
        int v = a[(j * 7 + i) & 1023];
        if (v < 0) continue;
        if ((v & 127) == 5) break;
        switch (v & 7) {
        case 0: s += v; break;
        case 1: s ^= v; break;
        case 2: s -= j; // falls through
        case 3: s *= 3; break;
        case 6:
            if (s & 1) {
                o[i] = -s;
                return;
            }
        default: s = (s >> 1) + 1;
        }
        do {
            s += v & j;
            v >>= 3;
        } while (v > j);
    }
    o[i] = s;
}
__attribute__((noinline)) int helper(int x, __global const int *a, int depth) {
    int s = x;
    for (int j = 0; j < depth; j++) s = s * a[j] + (s > x ? j : -j);
    return s;
}
K calls(__global int *o, __global const int *a, int n) {
    uint i = get_global_id(0);
    int x = helper(a[i], a, n);
    if (x > 3) x += helper(x, a + 4, 3);
    o[i] = x;
}
K integers(__global ulong *o, __global const ulong *a, __global const ulong *b) {
    uint i = get_global_id(0);
    ulong x = a[i], y = b[i];
    uint u = x, v = y;
    o += i * 16;
    o[0] = x + y;
    o[1] = x - y;
    o[2] = x * y;
    o[3] = mul_hi(u, v) | (ulong)(uint)mul_hi((int)u, (int)v) << 32;
    o[4] = x << (y & 63);
    o[5] = x >> (y & 63);
    o[6] = (long)x >> (y & 63);
    o[7] = v ? u / v : 0;
    o[8] = v ? u % v : 0;
    o[9] = (uint)((int)v ? (int)u / (int)(v | 1) : 0);
    o[10] = popcount(u) | clz(u) << 8 | (x < y) << 16 | ((long)x < (long)y) << 17;
    o[11] = rotate(u, v) | (ulong)rotate((ushort)u, (ushort)v) << 32;
    o[12] = add_sat(u, v) | (ulong)(uint)add_sat((int)u, (int)v) << 32;
    o[13] = (ushort)sub_sat((short)u, (short)v) | (uint)(uchar)add_sat((char)u, (char)v) << 16;
    o[14] = hadd(u, v) | (ulong)rhadd((uchar)u, (uchar)v) << 32;
    o[15] = mad_hi(u, v, u) ^ max((int)u, (int)v) ^ min(u, v) ^ abs_diff((int)u, (int)v);
}
K conversions(__global uint *o, __global const uint *a) {
    uint i = get_global_id(0), u = a[i];
    float f = as_float(u & 0x4fffffff | 0x20000000) * ((u & 1) ? -1.0f : 1.0f);
    o += i * 16;
    o[0] = as_uint((float)u);
    o[1] = as_uint((float)(int)u);
    o[2] = convert_int_sat(f);
    o[3] = convert_uint_sat(f);
    o[4] = (ushort)convert_short_sat(f) | (uint)(uchar)convert_char_sat(f) << 16;
    o[5] = convert_int_sat_rte(f);
    o[6] = as_uint(convert_float_rtz(u));
    o[7] = as_uint(convert_float_rtp((int)u));
    o[8] = (uint)(short)u;
    o[9] = (uint)(char)u;
    o[10] = as_uint(floor(f));
    o[11] = as_uint(rint(f));
    o[12] = as_uint(trunc(f) + ceil(f));
    o[13] = as_uint((float)((ulong)u * u));
    o[14] = as_uint((float)((long)(int)u * 77777));
    o[15] = as_uint(fmin(f, 3.5f)) ^ as_uint(fmax(f, -2.25f)) ^ as_uint(fabs(f));
}
K floats(__global float *o, __global const float *a, __global const float *b) {
    uint i = get_global_id(0);
    float x = a[i], y = b[i];
    o += i * 8;
    o[0] = x + y;
    o[1] = x - y;
    o[2] = x * y;
    o[3] = fma(x, y, x);
    o[4] = x / y;
    o[5] = sqrt(fabs(x));
    o[6] = x < y ? x : (x == y ? 0.5f : y);
    o[7] = isnan(x / (y - y));
}
K byte_products(__global int *o, __global const int *a, __global const int *b, __global const int *c) {
    uint i = get_global_id(0);
    char4 x = as_char4(a[i]), y = as_char4(b[i]);
    uchar4 u = as_uchar4(a[i]), v = as_uchar4(b[i]);
    o[6 * i] = dot(x, y);
    o[6 * i + 1] = (int)dot(u, v);
    o[6 * i + 2] = dot(x, v);
    o[6 * i + 3] = dot_acc_sat(x, y, c[i]);
    o[6 * i + 4] = (int)dot_acc_sat(u, v, (uint)c[i]);
    o[6 * i + 5] = dot_acc_sat(u, y, c[i]);
}
