// Floats of 32 and 16 bits: arithmetic, rounding, comparisons, conversions and the mathematical functions.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define K __attribute__((intel_reqd_sub_group_size(SG))) __kernel void

K f32_arith(__global float *o, __global const float *a, __global const float *b) {
    size_t i = get_global_id(0);
    float x = a[i], y = b[i];
    float r = fma(x, y, 1.5f) - x / y + sqrt(fabs(x)) + native_recip(y) + native_sqrt(x) + native_rsqrt(y);
    r += floor(x) + ceil(y) + trunc(x) + rint(y) + round(x) + fract(y, &o[i]) + fmin(x, y) + fmax(x, 0.25f);
    r = mad(-x, fabs(y), r) + copysign(x, y) + clamp(r, 0.0f, 1.0f);
    o[i] = isnan(r) ? -0.0f : r * 3.14159265f;
}
K f32_math(__global float *o, __global const float *a, __global const float *b) {
    size_t i = get_global_id(0);
    float x = a[i], y = b[i];
    o[i] = native_sin(x) + native_cos(y) + native_exp2(x) + native_log2(y) + native_powr(x, y);
    o[i] += sin(x) * exp(y) + log(x) + pow(x, y) + atan2(x, y) + tanh(y) + erf(x) + hypot(x, y);
    o[i] += fmod(x, y) + remainder(y, x) + ldexp(x, (int)y) + frexp(x, (__private int *)&y) + cbrt(x);
}
K f16_arith(__global half *o, __global const half *a, __global const half *b) {
    size_t i = get_global_id(0);
    half x = a[i], y = b[i];
    half r = fma(x, y, (half)0.5h) - x / y + sqrt(x) + native_recip(y) + floor(x) + fmin(x, y);
    o[i] = x > y ? r : (half)(r * (half)65504.0h) + native_sin(x) + exp2(y);
}
K f_compare(__global int *o, __global const float *a, __global const float *b) {
    size_t i = get_global_id(0);
    float x = a[i], y = b[i];
    o[i] = (x < y) + 2 * (x <= y) + 4 * (x == y) + 8 * (x != y) + 16 * isunordered(x, y) + 32 * isfinite(x) +
           64 * isnormal(y) + 128 * signbit(x) + 256 * (islessgreater(x, y));
}
K f_convert(__global float *o, __global const int *a, __global const half *h, __global uchar *c, __global long *l) {
    size_t i = get_global_id(0);
    float x = (float)a[i] + (float)h[i];
    o[i] = x + convert_float_rtz(l[i]) + convert_float_rtp((uint)a[i]);
    c[i] = convert_uchar_sat_rte(x) + convert_char_sat_rtn(o[i]);
    l[i] = convert_long_rtz(x) + convert_ulong_sat(x) + convert_short_sat_rte(x) + convert_ushort_rtp(x);
    vstore_half_rtz(x, i, (__global half *)c);
}
K f_constants(__global float *o, __global half *h) {
    size_t i = get_global_id(0);
    o[i] = (i & 1) ? 1e-30f : (i & 2) ? INFINITY : (i & 4) ? NAN : (i & 8) ? 1.17549e-38f : 123456.789f;
    h[i] = (i & 1) ? (half)0.1h : (i & 2) ? (half)INFINITY : (half)6.1035e-05h;
}
