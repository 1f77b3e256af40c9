import { ptr } from "bun:ffi";
import { libc } from "./libc.ts";
import { findOwnListeners } from "./ports.ts";

const SOL_SOCKET = 1;
const SO_ATTACH_REUSEPORT_CBPF = 51;
/** BPF instruction: return a constant. */
const BPF_RETURN = 0x06;

/**
 * Several sockets of this process listen on one port. From now on, all new connections go to the
 * socket with number `index`, in the order in which they were opened. The others keep the
 * connections they have, so that closing them later drops none that waits to be accepted. Linux
 * only; elsewhere, and where it is not permitted, the kernel still distributes connections.
 */
export function steerConnections(port: number, index: number): void {
  if (process.platform !== "linux") return;
  const instruction = new Uint8Array(8);
  new DataView(instruction.buffer).setUint16(0, BPF_RETURN, true);
  new DataView(instruction.buffer).setUint32(4, index, true);
  const program = new Uint8Array(16);
  new DataView(program.buffer).setUint16(0, 1, true);
  new DataView(program.buffer).setBigUint64(8, BigInt(ptr(instruction)), true);
  for (const fd of findOwnListeners(port)) {
    libc().setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, ptr(program), program.length);
  }
}
