// Integer arithmetic of every width, carry chains, bit operations and conversions between widths.
#define K __attribute__((intel_reqd_sub_group_size(SG))) __kernel void

K int_arith(__global int *o, __global const int *a, __global const int *b) {
    size_t i = get_global_id(0);
    int x = a[i], y = b[i];
    o[i] = (x * y + 7) - (x / (y | 1)) + (x % (y | 3)) + mad24(x, y, 5) + mul_hi(x, y) + abs_diff(x, y);
}
K uint_arith(__global uint *o, __global const uint *a, __global const uint *b) {
    size_t i = get_global_id(0);
    uint x = a[i], y = b[i];
    o[i] = x * y + (x / (y | 1u)) + (x % (y | 3u)) + mul_hi(x, y) + rhadd(x, y) + hadd(x, y) + add_sat(x, y) +
           sub_sat(x, y) + mad_sat(x, y, 3u);
}
K long_arith(__global long *o, __global const long *a, __global const long *b) {
    size_t i = get_global_id(0);
    long x = a[i], y = b[i];
    o[i] = (x + y) * (x - y) ^ (x << (y & 63)) | (x >> (y & 31)) & ~y;
    if (x > y) o[i] += mul_hi(x, y) + (x / (y | 1)) + (long)((ulong)x % ((ulong)y | 5));
}
K short_char(__global short *o, __global const short *a, __global const char *c, __global uchar *u) {
    size_t i = get_global_id(0);
    short x = a[i];
    char y = c[i];
    o[i] = (short)(x * y + (x >> 2)) + add_sat(x, (short)y);
    u[i] = convert_uchar_sat((int)x * 3 - y) + (uchar)(y ^ 0x5a);
}
K bits(__global uint *o, __global const uint *a, __global const uint *b) {
    size_t i = get_global_id(0);
    uint x = a[i], y = b[i];
    uint r = popcount(x) + clz(y) + ctz(x | 1u) + rotate(x, y) + rotate(x, 7u);
    r ^= (x & y) | (~x & 0x0f0f0f0fu) | (x & ~y & 0xf0f0f0f0u);
    r += ((x >> 5) & 0x3f) + ((y & 0xff) << 9 | (x & 0x1ff));
    r = bitselect(r, x, y) + select(x, y, (x < y));
    o[i] = r + ((x ^ y) & r) + (x | (y & r)) + ((x + y) + r);
}
K bits64(__global ulong *o, __global const ulong *a) {
    size_t i = get_global_id(0);
    ulong x = a[i];
    o[i] = popcount(x) + clz(x) + rotate(x, (ulong)13) + (x >> 33) + (x << 17) + (x ^ 0x123456789abcdefUL);
}
K minmax(__global int *o, __global const int *a, __global const uint *u, __global const short *s) {
    size_t i = get_global_id(0);
    o[i] = min(a[i], (int)s[i]) + max(a[i], 3) + (int)min(u[i], 9u) + clamp((int)s[i], -5, a[i]) + abs((int)s[i]);
}
