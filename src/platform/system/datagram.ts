import { libc } from "./libc.ts";

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const MSG_DONTWAIT = 0x40;

/**
 * Sends a message to a unix datagram socket, which the runtime does not support; false when it was
 * not delivered. A leading @ stands for the zero byte of an abstract socket name. The receiver's
 * queue is short and sending blocks this process, so only a message that must arrive waits for it.
 */
export function sendDatagram(path: string, text: string, mustArrive = false): boolean {
  const name = Buffer.from(path);
  if (path.startsWith("@")) name[0] = 0;
  const address = Buffer.alloc(2 + name.length);
  address.writeUInt16LE(AF_UNIX, 0);
  name.copy(address, 2);
  const message = Buffer.from(text);
  const { socket, sendto, close } = libc();
  const fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  if (fd < 0) return false;
  const flags = mustArrive ? 0 : MSG_DONTWAIT;
  const sent = sendto(fd, message, message.length, flags, address, address.length);
  close(fd);
  return Number(sent) === message.length;
}
