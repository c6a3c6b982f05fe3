// Doubles: DG2 has no 64-bit float pipe, so the compiler emulates them with integer code and calls.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define K __attribute__((intel_reqd_sub_group_size(SG))) __kernel void

K f64_arith(__global double *o, __global const double *a, __global const double *b) {
    size_t i = get_global_id(0);
    double x = a[i], y = b[i];
    o[i] = fma(x, y, 1.25) + x * y - x;
}
K f64_divide(__global double *o, __global const double *a, __global const double *b) {
    size_t i = get_global_id(0);
    o[i] = a[i] / b[i] + sqrt(a[i]);
}
K f64_convert(__global double *o, __global const float *a, __global const long *b, __global int *c) {
    size_t i = get_global_id(0);
    o[i] = (double)a[i] + (double)b[i];
    c[i] = (int)o[i] + (o[i] > 3.0) + isnan(o[i]);
}
