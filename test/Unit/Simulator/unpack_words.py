"""Unpacks the arrays of .npz files: unpack_words.py OUT IN.npz...

OUT gets NAME.ARRAY.bin with each array's data and nothing else, for a test that
has no reader of zip files. Needs Python's standard library only.
"""

import os
import struct
import sys
import zipfile


def main():
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    for path in sys.argv[2:]:
        name = os.path.splitext(os.path.basename(path))[0]
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                data = archive.read(member)
                assert data[:6] == b"\x93NUMPY", member
                header = struct.unpack_from("<H" if data[6] == 1 else "<I", data, 8)
                start = (10 if data[6] == 1 else 12) + header[0]
                array = os.path.splitext(member)[0]
                with open(os.path.join(out, f"{name}.{array}.bin"), "wb") as file:
                    file.write(data[start:])


main()
