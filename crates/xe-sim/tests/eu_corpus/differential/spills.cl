// {"kernel":"spills","seed":7,"stride":256,"slots":[{"at":0,"ty":{"s":"U64","n":16},"check":"Bits"},{"at":128,"ty":{"s":"U64","n":16},"check":"Bits"}],"local":[40,1,1],"groups":[2,1,1]}
// More values than registers: blocks of scratch memory, under divergent control flow.
KERNEL void spills(PARAMETERS) {
  PLACE(256);
  ulong16 a = vload16((gid + 1u) % 8u, (global const ulong *)in);
  ulong16 b = vload16((gid + 2u) % 8u, (global const ulong *)in);
  for (uint i = 0; i < 3u + (gid & 3u); i++) {
    if ((gid + i) & 1u) a = a * b.s123456789abcdef0 + b;
    else b = b - a.s5432106789abcdef * (ulong16)(3);
  }
  vstore16(a, 0, (global ulong *)o);
  vstore16(b, 1, (global ulong *)o);
}
