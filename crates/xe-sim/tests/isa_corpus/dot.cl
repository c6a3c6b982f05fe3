// Packed dot products and the systolic array (where the extension is there).
#define K __attribute__((intel_reqd_sub_group_size(SG))) __kernel void

K dp4a(__global int *o, __global const int *a, __global const int *b) {
    size_t i = get_global_id(0);
    char4 x = as_char4(a[i]), y = as_char4(b[i]);
    uchar4 z = as_uchar4(b[i + 1]);
    o[i] = dot_acc_sat(x, y, o[i]) + dot(x, z) + dot(z, z);
}
#if SG == 8
K systolic(__global int8 *o, __global const int8 *a, __global const int8 *b, __global float8 *f) {
    size_t i = get_global_id(0);
    o[i] = intel_sub_group_i8_i8_matrix_mad_k32(a[i], b[i], o[i]);
    f[i] = intel_sub_group_f16_f16_matrix_mad_k16(a[i], b[i], f[i]);
}
#endif
