# ===- tlx.py - TLX's attention forward ------------------------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""tlx.py FOLDER: the forward attention kernels that Meta's TLX ships as
tutorials (PyPI fbtriton, MIT), with the configuration they come with: MXFP8 and
bf16, each causal and not, head size 128."""

import importlib
import sys

from without_gpu import compile_kernel

TUTORIALS = "triton.language.extra.tlx.tutorials."


def attention(name, module, function, descriptors, maximum, folder):
    autotuner = getattr(importlib.import_module(TUTORIALS + module), function)
    kinds = {"sm_scale": "fp32", "Z": "i32", "H": "i32", "N_CTX": "i32",
             **maximum, **descriptors}
    for suffix, stage, group in (("", 1, 1), ("_causal", 3, 4)):
        # The tutorial takes the first configuration that it prunes to.
        config = next((c for c in autotuner.configs
                       if c.kwargs["GROUP_SIZE_N"] == group),
                      autotuner.configs[0])
        constants = {**config.kwargs, "HEAD_DIM": 128, "STAGE": stage}
        compile_kernel(autotuner.fn, name + suffix, kinds, constants, folder,
                       num_warps=config.num_warps, num_stages=config.num_stages)


def main(folder):
    codes = "tensordesc<fp8e4nv[128, 128]>"
    scales = "tensordesc<u8[1, 1, 1, 2, 256]>"
    bf16 = "tensordesc<bf16[128, 128]>"
    attention("tlx_mxfp8", "blackwell_fa_ws_pipelined_persistent_mxfp8",
              "_attn_fwd_mxf8_ws",
              {"desc_q": codes, "desc_k": codes, "desc_v": codes,
               "desc_o": bf16, "desc_q_scale": scales, "desc_k_scale": scales,
               "desc_v_scale": scales},
              {"desc_m": "tensordesc<fp32[128]>"}, folder)
    attention("tlx_bf16", "blackwell_fa_ws_pipelined_persistent",
              "_attn_fwd_ws",
              {"desc_q": bf16, "desc_k": bf16, "desc_v": bf16, "desc_o": bf16},
              {"M": "*fp32"}, folder)


if __name__ == "__main__":
    main(sys.argv[1])
