"""Run inside a sandbox: opens the proxy's listening socket, hands it to the process outside, and becomes the command.

A script for an interpreter without packages. Arguments: the descriptor that leads outside, the port, and the command.
Once the descriptor is gone, nothing in the sandbox can reach beyond its own network.
"""

import _socket  # that of the standard library loads ten times as much
import os
import sys


def main() -> None:
    """Do it."""
    outside = _socket.socket(fileno=int(sys.argv[1]))
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", int(sys.argv[2])))
    listener.listen(128)
    passed = listener.fileno().to_bytes(4, sys.byteorder)
    outside.sendmsg([b"l"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, passed)])
    os.set_inheritable(outside.fileno(), False)
    try:
        os.execvp(sys.argv[3], sys.argv[3:])
    except OSError as error:
        sys.stderr.write(f"{sys.argv[3]}: {error.strerror}\n")
        os._exit(127)


if __name__ == "__main__":
    main()
