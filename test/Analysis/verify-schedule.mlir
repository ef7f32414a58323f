// What lpfa-verify-schedule says of schedules written by hand, each with one
// mistake.

// RUN: lpfa-opt %s -split-input-file -verify-diagnostics \
// RUN:   -pass-pipeline='builtin.module(lpfa.kernel(lpfa-verify-schedule))'

// A ring of one slot, right: nothing to say.
lpfa.kernel @safe stage(synchronized) threads(256) shared_bytes(512) (%n: index) {
  %c = lpfa.channel "C" stages(1) at [#lpfa.place<shared, 0, 512>] : !lpfa.channel<128xf32 shared>
  %full = lpfa.barrier "C.full" stages(1) arrivals(128) : !lpfa.barrier
  %free = lpfa.barrier "C.free" stages(1) arrivals(128) : !lpfa.barrier
  lpfa.role "writer" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      lpfa.wait %free use %u back(1) : !lpfa.barrier
      %s = lpfa.slot %c use %u : !lpfa.channel<128xf32 shared>
      %x = lpfa.splat 1.0 : !lpfa.tile<128xf32>
      lpfa.write %x -> %s : !lpfa.tile<128xf32>, !lpfa.buffer<128xf32, shared>
      lpfa.arrive %full use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
  lpfa.role "reader" warps(4 from 4) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      lpfa.wait %full use %u : !lpfa.barrier
      %s = lpfa.slot %c use %u : !lpfa.channel<128xf32 shared>
      %x = lpfa.read %s : !lpfa.buffer<128xf32, shared> -> !lpfa.tile<128xf32>
      lpfa.arrive %free use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
}

// -----

// R3: the writer does not wait until the slot is free.
lpfa.kernel @race stage(synchronized) threads(256) shared_bytes(512) (%n: index) {
  %c = lpfa.channel "C" stages(1) at [#lpfa.place<shared, 0, 512>] : !lpfa.channel<128xf32 shared>
  %full = lpfa.barrier "C.full" stages(1) arrivals(128) : !lpfa.barrier
  lpfa.role "writer" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      %s = lpfa.slot %c use %u : !lpfa.channel<128xf32 shared>
      %x = lpfa.splat 1.0 : !lpfa.tile<128xf32>
      // expected-note@below {{the other access, in step 0 of work tile 1}}
      lpfa.write %x -> %s : !lpfa.tile<128xf32>, !lpfa.buffer<128xf32, shared>
      lpfa.arrive %full use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
  lpfa.role "reader" warps(4 from 4) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      lpfa.wait %full use %u : !lpfa.barrier
      %s = lpfa.slot %c use %u : !lpfa.channel<128xf32 shared>
      // expected-error@below {{race (R3): reads 'C' in bytes 0 to 512 of shared memory while role "writer" writes 'C' in bytes 0 to 512 of shared memory, in step 0 of work tile 0}}
      // expected-note@below {{nothing orders them: an lpfa.arrive in role "writer" after the other access, and an lpfa.wait for it in role "reader" before this one, would}}
      %x = lpfa.read %s : !lpfa.buffer<128xf32, shared> -> !lpfa.tile<128xf32>
      lpfa.advance %u : !lpfa.cursor
    }
  }
}

// -----

// R2: another channel took the bytes in between, in perfect order.
lpfa.kernel @replaced stage(synchronized) threads(256) shared_bytes(512) (%n: index) {
  %a = lpfa.channel "A" stages(1) at [#lpfa.place<shared, 0, 512>] : !lpfa.channel<128xf32 shared>
  %b = lpfa.channel "B" stages(1) at [#lpfa.place<shared, 0, 512>] : !lpfa.channel<128xf32 shared>
  %full = lpfa.barrier "full" stages(1) arrivals(128) : !lpfa.barrier
  %free = lpfa.barrier "free" stages(1) arrivals(128) : !lpfa.barrier
  lpfa.role "writer" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      lpfa.wait %free use %u back(1) : !lpfa.barrier
      %x = lpfa.splat 1.0 : !lpfa.tile<128xf32>
      %sa = lpfa.slot %a use %u : !lpfa.channel<128xf32 shared>
      lpfa.write %x -> %sa : !lpfa.tile<128xf32>, !lpfa.buffer<128xf32, shared>
      %sb = lpfa.slot %b use %u : !lpfa.channel<128xf32 shared>
      // expected-note@below {{the last write, to bytes 0 to 512 of shared memory}}
      lpfa.write %x -> %sb : !lpfa.tile<128xf32>, !lpfa.buffer<128xf32, shared>
      lpfa.arrive %full use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
  lpfa.role "reader" warps(4 from 4) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      lpfa.wait %full use %u : !lpfa.barrier
      %s = lpfa.slot %a use %u : !lpfa.channel<128xf32 shared>
      // expected-error@below {{race (R2): reads 'A' in bytes 0 to 512 of shared memory, of which 'B' has replaced part}}
      %x = lpfa.read %s : !lpfa.buffer<128xf32, shared> -> !lpfa.tile<128xf32>
      lpfa.arrive %free use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
}

// -----

// R2: nobody wrote.
lpfa.kernel @unwritten stage(synchronized) threads(128) shared_bytes(512) (%n: index) {
  %c = lpfa.channel "C" stages(1) at [#lpfa.place<shared, 0, 512>] : !lpfa.channel<128xf32 shared>
  lpfa.role "reader" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      %s = lpfa.slot %c use %u : !lpfa.channel<128xf32 shared>
      // expected-error@below {{race (R2): reads 'C' in bytes 0 to 512 of shared memory, where this content has not been written}}
      %x = lpfa.read %s : !lpfa.buffer<128xf32, shared> -> !lpfa.tile<128xf32>
    }
  }
}

// -----

// R4: the count is not what arrives.
lpfa.kernel @too_many stage(synchronized) threads(128) (%n: index) {
  // expected-note@below {{the barrier}}
  %bar = lpfa.barrier "B" stages(1) arrivals(64) : !lpfa.barrier
  lpfa.role "team" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      // expected-error@below {{protocol error (R4): use 0 of barrier 'B' gets 128 of 64 arrivals}}
      lpfa.arrive %bar use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
}

// -----

// R4: and so is this one, which nothing ends.
lpfa.kernel @too_few stage(synchronized) threads(256) (%n: index) {
  // expected-note@below {{the barrier}}
  %bar = lpfa.barrier "B" stages(1) arrivals(129) : !lpfa.barrier
  lpfa.role "team" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      lpfa.arrive %bar use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
  lpfa.role "other" warps(4 from 4) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      // expected-error@below {{deadlock (R4): waits for use 0 of barrier 'B', which gets 128 of 129 arrivals}}
      lpfa.wait %bar use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
}

// -----

// R4: bytes that were not expected.
lpfa.kernel @bytes stage(synchronized) threads(128) shared_bytes(512) (%in: !lpfa.view<?x32x4x4xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %n = lpfa.dim %in, 0 : !lpfa.view<?x32x4x4xf8E8M0FNU>
  %c = lpfa.channel "C" stages(1) at [#lpfa.place<shared, 0, 512>] : !lpfa.channel<32x4x4xf8E8M0FNU shared>
  // expected-note@below {{the barrier}}
  %full = lpfa.barrier "C.full" stages(1) arrivals(1) : !lpfa.barrier
  lpfa.role "load" warps(1 from 0) registers(128) elected {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      lpfa.expect_bytes %full use %u bytes(256) : !lpfa.barrier
      %s = lpfa.slot %c use %u : !lpfa.channel<32x4x4xf8E8M0FNU shared>
      // expected-error@below {{protocol error (R4): use 0 of barrier 'C.full' gets 1 of 1 arrivals and 512 of 256 bytes}}
      lpfa.load_async %in[%w, %c0, %c0, %c0] -> %s signals(%full use %u) : !lpfa.view<?x32x4x4xf8E8M0FNU>, !lpfa.buffer<32x4x4xf8E8M0FNU, shared>
      lpfa.advance %u : !lpfa.cursor
    }
  }
}

// -----

// R4: the barrier may see its arrival and these bytes, and be over, before it
// learns of the others.
lpfa.kernel @late stage(synchronized) threads(128) shared_bytes(1024) (%in: !lpfa.view<?x32x4x4xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %n = lpfa.dim %in, 0 : !lpfa.view<?x32x4x4xf8E8M0FNU>
  %c = lpfa.channel "C" stages(1) at [#lpfa.place<shared, 0, 512>, #lpfa.place<shared, 512, 512>] : !lpfa.channel<32x4x4xf8E8M0FNU shared, 32x4x4xf8E8M0FNU shared>
  // expected-note@below {{the barrier}}
  %full = lpfa.barrier "C.full" stages(1) arrivals(1) : !lpfa.barrier
  lpfa.role "load" warps(1 from 0) registers(128) elected {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      %s, %t = lpfa.slot %c use %u : !lpfa.channel<32x4x4xf8E8M0FNU shared, 32x4x4xf8E8M0FNU shared>
      lpfa.expect_bytes %full use %u bytes(512) : !lpfa.barrier
      lpfa.load_async %in[%w, %c0, %c0, %c0] -> %s signals(%full use %u) : !lpfa.view<?x32x4x4xf8E8M0FNU>, !lpfa.buffer<32x4x4xf8E8M0FNU, shared>
      // expected-error@below {{protocol error (R4): expects bytes for use 0 of barrier 'C.full', but the use may complete before: no arrival at it is sure to follow}}
      lpfa.expect_bytes %full use %u bytes(512) no_arrival : !lpfa.barrier
      lpfa.load_async %in[%w, %c0, %c0, %c0] -> %t signals(%full use %u) : !lpfa.view<?x32x4x4xf8E8M0FNU>, !lpfa.buffer<32x4x4xf8E8M0FNU, shared>
      lpfa.advance %u : !lpfa.cursor
    }
  }
}

// -----

// R4: nothing keeps the team from arriving twice before the other looks.
lpfa.kernel @runs_ahead stage(synchronized) threads(256) (%n: index) {
  // expected-note@below {{the barrier}}
  %bar = lpfa.barrier "B" stages(1) arrivals(128) : !lpfa.barrier
  lpfa.role "team" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      // expected-error@below {{protocol error (R4): arrives for use 1 of barrier 'B', but can come before use 0 completes}}
      lpfa.arrive %bar use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
  lpfa.role "other" warps(4 from 4) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      lpfa.wait %bar use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
}

// -----

// R4: parity. One thread arrives, in order, but may do so again before the
// other looks.
lpfa.kernel @parity stage(synchronized) threads(128) (%n: index) {
  %bar = lpfa.barrier "B" stages(1) arrivals(1) : !lpfa.barrier
  lpfa.role "single" warps(1 from 0) registers(128) elected {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      // expected-note@below {{nothing makes this wait for it}}
      lpfa.arrive %bar use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
  lpfa.role "other" warps(1 from 1) registers(128) elected {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      // expected-error@below {{protocol error (R4): waits for use 0 of barrier 'B', but use 1 may complete before it looks, whose parity is the other}}
      lpfa.wait %bar use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
}

// -----

// Who has seen a later arrival of the whole team knows that all of it has arrived
// before, too.
lpfa.kernel @met stage(synchronized) threads(256) (%n: index) {
  %a = lpfa.barrier "A" stages(1) arrivals(128) : !lpfa.barrier
  %b = lpfa.barrier "B" stages(1) arrivals(128) : !lpfa.barrier
  %c = lpfa.barrier "C" stages(1) arrivals(128) : !lpfa.barrier
  lpfa.role "team" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      lpfa.arrive %a use %u : !lpfa.barrier
      lpfa.arrive %b use %u : !lpfa.barrier
      lpfa.wait %c use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
  lpfa.role "other" warps(4 from 4) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      lpfa.wait %b use %u : !lpfa.barrier
      lpfa.arrive %c use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
}

// -----

// R4: an earlier arrival of the others says nothing.
lpfa.kernel @not_met stage(synchronized) threads(256) (%n: index) {
  // expected-note@below {{the barrier}}
  %a = lpfa.barrier "A" stages(1) arrivals(128) : !lpfa.barrier
  %b = lpfa.barrier "B" stages(1) arrivals(128) : !lpfa.barrier
  %c = lpfa.barrier "C" stages(1) arrivals(128) : !lpfa.barrier
  lpfa.role "team" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      lpfa.arrive %b use %u : !lpfa.barrier
      // expected-error@below {{protocol error (R4): arrives for use 1 of barrier 'A', but can come before use 0 completes}}
      lpfa.arrive %a use %u : !lpfa.barrier
      lpfa.wait %c use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
  lpfa.role "other" warps(4 from 4) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      lpfa.wait %b use %u : !lpfa.barrier
      lpfa.arrive %c use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
}

// -----

// A named barrier: who waits is part of a use, so that no use can end before the
// other looks. What the team writes next must wait all the same.
lpfa.kernel @named stage(synchronized) threads(256) shared_bytes(512) (%n: index) {
  %c = lpfa.channel "C" stages(1) at [#lpfa.place<shared, 0, 512>] : !lpfa.channel<128xf32 shared>
  %full = lpfa.barrier "full" named stages(1) arrivals(128) : !lpfa.barrier
  %free = lpfa.barrier "free" named stages(1) arrivals(128) : !lpfa.barrier
  lpfa.role "team" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    %x = lpfa.splat 1.0 : !lpfa.tile<128xf32>
    lpfa.for_work (%w) in (%n) {
      %s = lpfa.slot %c use %u : !lpfa.channel<128xf32 shared>
      lpfa.write %x -> %s : !lpfa.tile<128xf32>, !lpfa.buffer<128xf32, shared>
      lpfa.arrive %full use %u : !lpfa.barrier
      lpfa.wait %free use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
  lpfa.role "other" warps(4 from 4) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      lpfa.wait %full use %u : !lpfa.barrier
      %s = lpfa.slot %c use %u : !lpfa.channel<128xf32 shared>
      %x = lpfa.read %s : !lpfa.buffer<128xf32, shared> -> !lpfa.tile<128xf32>
      lpfa.arrive %free use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
}

// -----

// R4: warps that arrive again before the others have come.
lpfa.kernel @named_ahead stage(synchronized) threads(256) (%n: index) {
  // expected-note@below {{the barrier}}
  %bar = lpfa.barrier "B" named stages(1) arrivals(128) : !lpfa.barrier
  lpfa.role "team" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      // expected-error@below {{protocol error (R4): arrives for use 1 of barrier 'B', but can come before use 0 completes}}
      lpfa.arrive %bar use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
  lpfa.role "other" warps(4 from 4) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      lpfa.wait %bar use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
}

// -----

// R4: a use that nobody comes to wait for.
lpfa.kernel @named_alone stage(synchronized) threads(128) () {
  // expected-note@below {{the barrier}}
  %bar = lpfa.barrier "B" named stages(1) arrivals(128) : !lpfa.barrier
  lpfa.role "team" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    // expected-error@below {{protocol error (R4): use 0 of named barrier 'B' is not waited for as the use before, once and in order}}
    lpfa.arrive %bar use %u : !lpfa.barrier
  }
}

// -----

// Each waits for the other's first arrival.
lpfa.kernel @circle stage(synchronized) threads(256) (%n: index) {
  %ping = lpfa.barrier "ping" stages(1) arrivals(128) : !lpfa.barrier
  %pong = lpfa.barrier "pong" stages(1) arrivals(128) : !lpfa.barrier
  lpfa.role "a" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      // expected-error@below {{deadlock: roles wait for each other: role "a" waits for use 0 of barrier 'pong'}}
      lpfa.wait %pong use %u : !lpfa.barrier
      lpfa.arrive %ping use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
  lpfa.role "b" warps(4 from 4) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      // expected-note@below {{role "b" waits for use 0 of barrier 'ping'}}
      lpfa.wait %ping use %u : !lpfa.barrier
      lpfa.arrive %pong use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
}

// -----

// R5: what threads wrote to shared memory, an engine reads.
lpfa.kernel @proxy stage(synchronized) threads(256) shared_bytes(16384) (%out: !lpfa.view<?x32xf32>) {
  %c0 = arith.constant 0 : index
  %n = lpfa.dim %out, 0 : !lpfa.view<?x32xf32>
  %c = lpfa.channel "C" stages(1) at [#lpfa.place<shared, 0, 16384>] : !lpfa.channel<128x32xf32 shared>
  %full = lpfa.barrier "C.full" stages(1) arrivals(128) : !lpfa.barrier
  %free = lpfa.barrier "C.free" stages(1) arrivals(1) : !lpfa.barrier
  lpfa.role "writer" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      lpfa.wait %free use %u back(1) : !lpfa.barrier
      %s = lpfa.slot %c use %u : !lpfa.channel<128x32xf32 shared>
      %x = lpfa.splat 1.0 : !lpfa.tile<128x32xf32>
      // expected-note@below {{role "writer" writes 'C'}}
      // expected-note@below {{missing: lpfa.fence proxy_async, by the writing threads before they arrive}}
      lpfa.write %x -> %s : !lpfa.tile<128x32xf32>, !lpfa.buffer<128x32xf32, shared>
      lpfa.arrive %full use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
  lpfa.role "store" warps(1 from 4) registers(128) elected {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.for_work (%w) in (%n) {
      lpfa.wait %full use %u : !lpfa.barrier
      %s = lpfa.slot %c use %u : !lpfa.channel<128x32xf32 shared>
      // expected-error@below {{race (R5): reads 'C' in bytes 0 to 16384 of shared memory after writes 'C' in bytes 0 to 16384 of shared memory without a fence}}
      lpfa.store_async %s -> %out[%w, %c0] : !lpfa.buffer<128x32xf32, shared>, !lpfa.view<?x32xf32>
      lpfa.store_wait
      lpfa.arrive %free use %u : !lpfa.barrier
      lpfa.advance %u : !lpfa.cursor
    }
  }
}

// -----

// Nobody waits for the copy of the last slot.
lpfa.kernel @unfinished stage(synchronized) threads(128) shared_bytes(16384) (%out: !lpfa.view<?x32xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : index
  %c = lpfa.channel "C" stages(1) at [#lpfa.place<shared, 0, 16384>] : !lpfa.channel<128x32xf32 shared>
  %full = lpfa.barrier "C.full" stages(1) arrivals(1) : !lpfa.barrier
  lpfa.role "load" warps(1 from 0) registers(128) elected {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.expect_bytes %full use %u bytes(16384) : !lpfa.barrier
    %s = lpfa.slot %c use %u : !lpfa.channel<128x32xf32 shared>
    // expected-error@below {{race: writes 'C' in bytes 0 to 16384 of shared memory and may not have finished when the kernel ends: no role waits for it}}
    lpfa.load_async %out[%c0, %c0] -> %s signals(%full use %u) : !lpfa.view<?x32xf32>, !lpfa.buffer<128x32xf32, shared>
  }
}

// -----

// R5: stores to tensor memory have to be waited for.
lpfa.kernel @stores stage(synchronized) threads(256) tensor_columns(64) (%n: index) {
  %c = lpfa.channel "T" stages(1) at [#lpfa.place<tensor, 0, 64>] : !lpfa.channel<128x64xf32 tensor>
  %full = lpfa.barrier "T.full" stages(1) arrivals(128) : !lpfa.barrier
  lpfa.role "writer" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    %s = lpfa.slot %c use %u : !lpfa.channel<128x64xf32 tensor>
    %x = lpfa.splat 1.0 : !lpfa.tile<128x64xf32>
    // expected-note@below {{role "writer" writes 'T'}}
    // expected-note@below {{missing: lpfa.fence tensor_stores, by the writing threads before they arrive}}
    lpfa.write %x -> %s : !lpfa.tile<128x64xf32>, !lpfa.buffer<128x64xf32, tensor>
    lpfa.fence before_thread_sync
    lpfa.arrive %full use %u : !lpfa.barrier
  }
  lpfa.role "reader" warps(4 from 4) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.wait %full use %u : !lpfa.barrier
    lpfa.fence after_thread_sync
    %s = lpfa.slot %c use %u : !lpfa.channel<128x64xf32 tensor>
    // expected-error@below {{race (R5): reads 'T' in columns 0 to 64 of tensor memory after writes 'T' in columns 0 to 64 of tensor memory without a fence}}
    %x = lpfa.read %s : !lpfa.buffer<128x64xf32, tensor> -> !lpfa.tile<128x64xf32>
  }
}

// -----

// R5: the same with a fence too few on the other side.
lpfa.kernel @after stage(synchronized) threads(256) tensor_columns(64) (%n: index) {
  %c = lpfa.channel "T" stages(1) at [#lpfa.place<tensor, 0, 64>] : !lpfa.channel<128x64xf32 tensor>
  %full = lpfa.barrier "T.full" stages(1) arrivals(128) : !lpfa.barrier
  lpfa.role "writer" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    %s = lpfa.slot %c use %u : !lpfa.channel<128x64xf32 tensor>
    %x = lpfa.splat 1.0 : !lpfa.tile<128x64xf32>
    // expected-note@below {{role "writer" writes 'T'}}
    lpfa.write %x -> %s : !lpfa.tile<128x64xf32>, !lpfa.buffer<128x64xf32, tensor>
    lpfa.fence tensor_stores
    lpfa.fence before_thread_sync
    lpfa.arrive %full use %u : !lpfa.barrier
  }
  lpfa.role "reader" warps(4 from 4) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.wait %full use %u : !lpfa.barrier
    %s = lpfa.slot %c use %u : !lpfa.channel<128x64xf32 tensor>
    // expected-error@below {{race (R5): reads 'T'}}
    // expected-note@below {{missing: lpfa.fence after_thread_sync, after the wait that stands before this}}
    %x = lpfa.read %s : !lpfa.buffer<128x64xf32, tensor> -> !lpfa.tile<128x64xf32>
  }
}

// -----

// One thread arrives for its team, and the others have not been waited for.
lpfa.kernel @one_for_all stage(synchronized) threads(256) shared_bytes(512) (%n: index) {
  %c = lpfa.channel "C" stages(1) at [#lpfa.place<shared, 0, 512>] : !lpfa.channel<128xf32 shared>
  %full = lpfa.barrier "C.full" stages(1) arrivals(1) : !lpfa.barrier
  lpfa.role "writer" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    %s = lpfa.slot %c use %u : !lpfa.channel<128xf32 shared>
    %x = lpfa.splat 1.0 : !lpfa.tile<128xf32>
    // expected-note@below {{the other access}}
    lpfa.write %x -> %s : !lpfa.tile<128xf32>, !lpfa.buffer<128xf32, shared>
    lpfa.arrive %full use %u one_thread : !lpfa.barrier
  }
  lpfa.role "reader" warps(4 from 4) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.wait %full use %u : !lpfa.barrier
    %s = lpfa.slot %c use %u : !lpfa.channel<128xf32 shared>
    // expected-error@below {{race (R3): reads 'C'}}
    // expected-note@below {{nothing orders them}}
    %x = lpfa.read %s : !lpfa.buffer<128xf32, shared> -> !lpfa.tile<128xf32>
  }
}

// -----

// With a barrier of the team before it this is right.
lpfa.kernel @team_then_one stage(synchronized) threads(256) shared_bytes(512) (%n: index) {
  %c = lpfa.channel "C" stages(1) at [#lpfa.place<shared, 0, 512>] : !lpfa.channel<128xf32 shared>
  %full = lpfa.barrier "C.full" stages(1) arrivals(1) : !lpfa.barrier
  lpfa.role "writer" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    %s = lpfa.slot %c use %u : !lpfa.channel<128xf32 shared>
    %x = lpfa.splat 1.0 : !lpfa.tile<128xf32>
    lpfa.write %x -> %s : !lpfa.tile<128xf32>, !lpfa.buffer<128xf32, shared>
    lpfa.team_barrier
    lpfa.arrive %full use %u one_thread : !lpfa.barrier
  }
  lpfa.role "reader" warps(4 from 4) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.wait %full use %u : !lpfa.barrier
    %s = lpfa.slot %c use %u : !lpfa.channel<128xf32 shared>
    %x = lpfa.read %s : !lpfa.buffer<128xf32, shared> -> !lpfa.tile<128xf32>
  }
}

// -----

// Outside the model: a copy that signals nothing.
lpfa.kernel @silent stage(synchronized) threads(128) shared_bytes(16384) (%in: !lpfa.view<?x32xf32>) {
  %c0 = arith.constant 0 : index
  %c = lpfa.channel "C" stages(1) at [#lpfa.place<shared, 0, 16384>] : !lpfa.channel<128x32xf32 shared>
  lpfa.role "load" warps(1 from 0) registers(128) elected {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    %s = lpfa.slot %c use %u : !lpfa.channel<128x32xf32 shared>
    // expected-error@below {{outside the model: signals no barrier}}
    lpfa.load_async %in[%c0, %c0] -> %s : !lpfa.view<?x32xf32>, !lpfa.buffer<128x32xf32, shared>
  }
}

// -----

// Outside the model: an engine's op by all threads of a team.
lpfa.kernel @by_all stage(synchronized) threads(128) (%n: index) {
  %bar = lpfa.barrier "B" stages(1) arrivals(1) : !lpfa.barrier
  lpfa.role "team" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    // expected-error@below {{outside the model: issued by every thread of role "team", which is not elected}}
    lpfa.commit %bar use %u : !lpfa.barrier
  }
}

// -----

// Outside the model: waits that depend on data, trip counts on sizes.
lpfa.kernel @data stage(synchronized) threads(128) (%n: index) {
  %c0 = arith.constant 0 : index
  %bar = lpfa.barrier "B" stages(1) arrivals(1) : !lpfa.barrier
  lpfa.role "team" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    %some = arith.cmpi ne, %n, %c0 : index
    scf.if %some {
      // expected-error@below {{may not depend on data}}
      lpfa.wait %bar use %u : !lpfa.barrier
    }
  }
}

// -----

// R2: what is written under a condition on data may not be there.
lpfa.kernel @may_write stage(synchronized) threads(256) shared_bytes(512) (%n: index) {
  %c0 = arith.constant 0 : index
  %c = lpfa.channel "C" stages(1) at [#lpfa.place<shared, 0, 512>] : !lpfa.channel<128xf32 shared>
  %full = lpfa.barrier "C.full" stages(1) arrivals(128) : !lpfa.barrier
  lpfa.role "writer" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    %s = lpfa.slot %c use %u : !lpfa.channel<128xf32 shared>
    %x = lpfa.splat 1.0 : !lpfa.tile<128xf32>
    %some = arith.cmpi ne, %n, %c0 : index
    scf.if %some {
      lpfa.write %x -> %s : !lpfa.tile<128xf32>, !lpfa.buffer<128xf32, shared>
    }
    lpfa.arrive %full use %u : !lpfa.barrier
  }
  lpfa.role "reader" warps(4 from 4) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.wait %full use %u : !lpfa.barrier
    %s = lpfa.slot %c use %u : !lpfa.channel<128xf32 shared>
    // expected-error@below {{race (R2): reads 'C' in bytes 0 to 512 of shared memory, where this content has not been written}}
    %x = lpfa.read %s : !lpfa.buffer<128xf32, shared> -> !lpfa.tile<128xf32>
  }
}

// -----

lpfa.kernel @trips stage(synchronized) threads(128) (%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  lpfa.role "team" warps(4 from 0) registers(128) {
    // expected-error@below {{has a trip count outside the model of the schedule analysis}}
    scf.for %i = %c0 to %n step %c1 {
    }
  }
}

// -----

// At the roles stage: each role gets before it puts.
// expected-error@below {{deadlock: roles wait for each other's puts, releases and gives in a circle}}
lpfa.kernel @circle_of_gets stage(roles) threads(256) (%n: index) {
  %ping = lpfa.channel "ping" stages(1) : !lpfa.channel<128xf32 shared>
  %pong = lpfa.channel "pong" stages(1) : !lpfa.channel<128xf32 shared>
  lpfa.role "a" warps(4 from 0) registers(128) {
    %x = lpfa.get %pong : !lpfa.channel<128xf32 shared>
    lpfa.release %pong : !lpfa.channel<128xf32 shared>
    %y = lpfa.acquire %ping : !lpfa.channel<128xf32 shared>
    lpfa.put %ping : !lpfa.channel<128xf32 shared>
  }
  lpfa.role "b" warps(4 from 4) registers(128) {
    %x = lpfa.get %ping : !lpfa.channel<128xf32 shared>
    lpfa.release %ping : !lpfa.channel<128xf32 shared>
    %y = lpfa.acquire %pong : !lpfa.channel<128xf32 shared>
    lpfa.put %pong : !lpfa.channel<128xf32 shared>
  }
}

// -----

// At the roles stage: one put too few.
lpfa.kernel @balance stage(roles) threads(256) (%n: index) {
  %c = lpfa.channel "C" stages(1) : !lpfa.channel<128xf32 shared>
  lpfa.role "a" warps(4 from 0) registers(128) {
    %y = lpfa.acquire %c : !lpfa.channel<128xf32 shared>
    lpfa.put %c : !lpfa.channel<128xf32 shared>
  }
  lpfa.role "b" warps(4 from 4) registers(128) {
    lpfa.for_work (%w) in (%n) {
      // expected-error@below {{has no lpfa.put of its use 1}}
      %x = lpfa.get %c : !lpfa.channel<128xf32 shared>
      lpfa.release %c : !lpfa.channel<128xf32 shared>
    }
  }
}

// -----

// At the placed stage: two contents in the same bytes that live side by side.
lpfa.kernel @placed stage(placed) threads(256) shared_bytes(512) (%n: index) {
  // expected-note@below {{the other access}}
  %a = lpfa.channel "A" stages(1) at [#lpfa.place<shared, 0, 512>] : !lpfa.channel<128xf32 shared>
  %b = lpfa.channel "B" stages(1) at [#lpfa.place<shared, 0, 512>] : !lpfa.channel<128xf32 shared>
  lpfa.role "writer" warps(4 from 0) registers(128) {
    lpfa.for_work (%w) in (%n) {
      %x = lpfa.splat 1.0 : !lpfa.tile<128xf32>
      %sa = lpfa.acquire %a : !lpfa.channel<128xf32 shared>
      lpfa.write %x -> %sa : !lpfa.tile<128xf32>, !lpfa.buffer<128xf32, shared>
      lpfa.put %a : !lpfa.channel<128xf32 shared>
      %sb = lpfa.acquire %b : !lpfa.channel<128xf32 shared>
      // expected-error@below {{accesses 'B', of which one is replaced while it is in use by 'A' in the same memory (R2)}}
      lpfa.write %x -> %sb : !lpfa.tile<128xf32>, !lpfa.buffer<128xf32, shared>
      lpfa.put %b : !lpfa.channel<128xf32 shared>
    }
  }
  lpfa.role "reader" warps(4 from 4) registers(128) {
    lpfa.for_work (%w) in (%n) {
      %sb = lpfa.get %b : !lpfa.channel<128xf32 shared>
      %y = lpfa.read %sb : !lpfa.buffer<128xf32, shared> -> !lpfa.tile<128xf32>
      %sa = lpfa.get %a : !lpfa.channel<128xf32 shared>
      %x = lpfa.read %sa : !lpfa.buffer<128xf32, shared> -> !lpfa.tile<128xf32>
      lpfa.release %a : !lpfa.channel<128xf32 shared>
      lpfa.release %b : !lpfa.channel<128xf32 shared>
    }
  }
}

// -----

// At the roles stage: a slot that copies fill expects their bytes once.
lpfa.kernel @acquired_twice stage(roles) threads(256) (%v: !lpfa.view<128x32xf32>) {
  %c0 = arith.constant 0 : index
  %c = lpfa.channel "C" stages(1) : !lpfa.channel<128x32xf32 shared>
  lpfa.role "a" warps(4 from 0) registers(128) {
    %x = lpfa.acquire %c : !lpfa.channel<128x32xf32 shared>
    lpfa.load_async %v[%c0, %c0] -> %x : !lpfa.view<128x32xf32>, !lpfa.buffer<128x32xf32, shared>
    // expected-error@below {{acquires a slot again that copies fill}}
    %y = lpfa.acquire %c : !lpfa.channel<128x32xf32 shared>
    lpfa.load_async %v[%c0, %c0] -> %y : !lpfa.view<128x32xf32>, !lpfa.buffer<128x32xf32, shared>
    lpfa.put %c : !lpfa.channel<128x32xf32 shared>
  }
  lpfa.role "b" warps(4 from 4) registers(128) {
    %x = lpfa.get %c : !lpfa.channel<128x32xf32 shared>
    lpfa.release %c : !lpfa.channel<128x32xf32 shared>
  }
}
