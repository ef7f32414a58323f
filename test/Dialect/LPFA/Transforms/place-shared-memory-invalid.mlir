// Buffers that do not fit, and that no wait lets share memory: the error names each
// of them, and how long rings could be.

// RUN: lpfa-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(lpfa.kernel(lpfa-place-tiles))'

// A thread reads its rows of A and writes its rows of B, where those of A lie that
// other threads still read: nothing tells it that they have.
// expected-error@below {{'lpfa.kernel' op needs 262144 bytes of shared memory, of 232448; rings of one slot would still need 262144}}
lpfa.kernel @team stage(roles) threads(256) (%in: !lpfa.view<?x128xf32>, %out: !lpfa.view<?x128xf32>) {
  %c0 = arith.constant 0 : index
  %n = lpfa.dim %in, 0 : !lpfa.view<?x128xf32>
  // expected-note@below {{'A' takes 1 times 131072 bytes}}
  %A = lpfa.channel "A" stages(1) : !lpfa.channel<256x128xf32 shared>
  // expected-note@below {{'B' takes 1 times 131072 bytes}}
  %B = lpfa.channel "B" stages(1) : !lpfa.channel<256x128xf32 shared>
  lpfa.role "work" warps(4 from 0) registers(128) {
    lpfa.for_work (%w) in (%n) {
      %a = lpfa.get %A : !lpfa.channel<256x128xf32 shared>
      %x = lpfa.read %a : !lpfa.buffer<256x128xf32, shared> -> !lpfa.tile<256x128xf32>
      lpfa.release %A : !lpfa.channel<256x128xf32 shared>
      %b = lpfa.acquire %B : !lpfa.channel<256x128xf32 shared>
      lpfa.write %x -> %b : !lpfa.tile<256x128xf32>, !lpfa.buffer<256x128xf32, shared>
      lpfa.put %B : !lpfa.channel<256x128xf32 shared>
    }
  }
  lpfa.role "load" warps(1 from 4) registers(128) elected {
    lpfa.for_work (%w) in (%n) {
      %a = lpfa.acquire %A : !lpfa.channel<256x128xf32 shared>
      lpfa.load_async %in[%w, %c0] -> %a : !lpfa.view<?x128xf32>, !lpfa.buffer<256x128xf32, shared>
      lpfa.put %A : !lpfa.channel<256x128xf32 shared>
    }
  }
  lpfa.role "store" warps(1 from 5) registers(128) elected {
    lpfa.for_work (%w) in (%n) {
      %b = lpfa.get %B : !lpfa.channel<256x128xf32 shared>
      lpfa.store_async %b -> %out[%w, %c0] : !lpfa.buffer<256x128xf32, shared>, !lpfa.view<?x128xf32>
      lpfa.release %B : !lpfa.channel<256x128xf32 shared>
    }
  }
}

// -----

// The next A must be there before B is read: who waited for B to be read would
// wait for ever.
// expected-error@below {{'lpfa.kernel' op needs 262144 bytes of shared memory, of 232448; rings of one slot would still need 262144}}
lpfa.kernel @ahead stage(roles) threads(256) (%in: !lpfa.view<?x128xf32>) {
  %c0 = arith.constant 0 : index
  %n = lpfa.dim %in, 0 : !lpfa.view<?x128xf32>
  // expected-note@below {{'A' takes 1 times 131072 bytes}}
  %A = lpfa.channel "A" stages(1) : !lpfa.channel<256x128xf32 shared>
  // expected-note@below {{'B' takes 1 times 131072 bytes}}
  %B = lpfa.channel "B" stages(1) : !lpfa.channel<256x128xf32 shared>
  lpfa.role "readers" warps(4 from 0) registers(128) {
    lpfa.for_work (%w) in (%n) {
      %b = lpfa.get %B : !lpfa.channel<256x128xf32 shared>
      %a = lpfa.get %A : !lpfa.channel<256x128xf32 shared>
      %x = lpfa.read %a : !lpfa.buffer<256x128xf32, shared> -> !lpfa.tile<256x128xf32>
      lpfa.release %A : !lpfa.channel<256x128xf32 shared>
      %y = lpfa.read %b : !lpfa.buffer<256x128xf32, shared> -> !lpfa.tile<256x128xf32>
      lpfa.release %B : !lpfa.channel<256x128xf32 shared>
    }
  }
  lpfa.role "load" warps(1 from 4) registers(128) elected {
    lpfa.for_work (%w) in (%n) {
      %b = lpfa.acquire %B : !lpfa.channel<256x128xf32 shared>
      lpfa.load_async %in[%w, %c0] -> %b : !lpfa.view<?x128xf32>, !lpfa.buffer<256x128xf32, shared>
      lpfa.put %B : !lpfa.channel<256x128xf32 shared>
      %a = lpfa.acquire %A : !lpfa.channel<256x128xf32 shared>
      lpfa.load_async %in[%w, %c0] -> %a : !lpfa.view<?x128xf32>, !lpfa.buffer<256x128xf32, shared>
      lpfa.put %A : !lpfa.channel<256x128xf32 shared>
    }
  }
}
