"""serve.py MODEL PORT [KEY]: llama.cpp's own server on this machine, until it is ended."""

import signal
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.port = int(sys.argv[2])
params.n_ctx = 16384
params.n_parallel = 1
params.cpuparams.n_threads = 1
if len(sys.argv) > 3:
    params.api_keys = [sys.argv[3]]
server = xllamacpp.Server(params)
print("listening at", server.listening_address, flush=True)
signal.pause()
