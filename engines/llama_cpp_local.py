"""llama.cpp's server as a program of this machine: `xllamacpp`'s, or a ``llama-server``.

``python -m engines.llama_cpp_local --model FILE --port N …`` is the child process that serves with
`xllamacpp`; it takes the names of llama-server's own flags, so both are started alike.
"""

from __future__ import annotations

import argparse
import signal
import sys

from engines import PORT, PYTHON, Launch, Recipe, flag_args
from engines.llama_cpp import server_args


def launch(recipe: Recipe) -> Launch:
    program = (recipe.program,) if recipe.program else (PYTHON, "-m", "engines.llama_cpp_local")
    return Launch(
        argv=(
            *program,
            "--host",
            "127.0.0.1",
            "--port",
            PORT,
            *server_args(recipe, recipe.path),
            *flag_args(recipe.flags),
        ),
        port=0,
        served=recipe.model,
        env=recipe.env,
    )


def serve(wanted: argparse.Namespace) -> None:
    """Serve until SIGTERM. Raises RuntimeError when the model or the port cannot be had."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = wanted.model
    params.model_alias = {wanted.alias}
    params.hostnames = [wanted.host]
    params.port = wanted.port
    params.n_ctx = wanted.ctx_size
    params.n_parallel = wanted.parallel
    params.n_gpu_layers = wanted.n_gpu_layers
    if wanted.threads:
        params.cpuparams.n_threads = wanted.threads
    params.endpoint_metrics = wanted.metrics
    params.endpoint_slots = wanted.slots
    params.use_jinja = wanted.jinja
    params.ui = False
    if wanted.no_mmap:
        params.load_mode = xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_NONE
    server = xllamacpp.Server(params)  # listens until it is collected
    signal.pause()
    del server


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m engines.llama_cpp_local")
    parser.add_argument("--model", required=True)
    parser.add_argument("--alias", default="model")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ctx-size", type=int, required=True)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--n-gpu-layers", type=int, default=-1)
    parser.add_argument("--no-mmap", action="store_true")
    parser.add_argument("--metrics", action="store_true")
    parser.add_argument("--slots", action="store_true")
    parser.add_argument("--jinja", action="store_true")
    return parser


if __name__ == "__main__":
    try:
        serve(arguments().parse_args())
    except RuntimeError as fault:
        sys.exit(str(fault))
