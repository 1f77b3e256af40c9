// A unix datagram socket, which the runtime does not support: systemd and syslog have one.
import { onTestFinished } from "bun:test";
import { dlopen, FFIType } from "bun:ffi";

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const MSG_DONTWAIT = 0x40;

const { i32, u32, i64, u64, ptr } = FFIType;

/**
 * Opens a datagram socket until the test ends; the result returns all messages so far. A leading @
 * stands for the zero byte of an abstract socket name.
 */
export function openDatagramSocket(path: string): () => string[] {
  const { symbols } = dlopen("libc.so.6", {
    socket: { args: [i32, i32, i32], returns: i32 },
    bind: { args: [i32, ptr, u32], returns: i32 },
    recv: { args: [i32, ptr, u64, i32], returns: i64 },
    close: { args: [i32], returns: i32 },
  });
  const name = Buffer.from(path.replace(/^@/, "\0"));
  const address = Buffer.concat([Buffer.from([AF_UNIX, 0]), name]);
  const fd = symbols.socket(AF_UNIX, SOCK_DGRAM, 0);
  if (symbols.bind(fd, address, address.length) !== 0)
    throw new Error(`cannot bind a socket to ${path}`);
  onTestFinished(() => void symbols.close(fd));
  const messages: string[] = [];
  return () => {
    const buffer = Buffer.alloc(4_096);
    for (;;) {
      const length = Number(symbols.recv(fd, buffer, buffer.length, MSG_DONTWAIT));
      if (length < 0) return messages;
      messages.push(buffer.toString("utf8", 0, length));
    }
  };
}
