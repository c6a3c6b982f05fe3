// {"kernel":"uniform","seed":9,"stride":16,"slots":[{"at":0,"ty":{"s":"U64","n":1},"check":"Bits"},{"at":8,"ty":{"s":"I32","n":2},"check":"Bits"}],"local":[24,1,1],"groups":[3,1,1]}
// One address for all channels. Through the legacy data ports two channels load its halves: their addresses are an immediate
// vector of double words (local memory), or the sum with one of words, with carry (global memory).
KERNEL void uniform(PARAMETERS) {
  PLACE(16);
  local ulong shared[128];
  shared[lid] = ((ulong)lid + 5 << 40) + 3;
  barrier(CLK_LOCAL_MEM_FENCE);
  *(global ulong *)o = shared[0];
  vstore2(vload2(0u, (global const int *)in), 0, (global int *)(o + 8));
  atomic_add(at + (gid & 31u), gid + 1u);
}
