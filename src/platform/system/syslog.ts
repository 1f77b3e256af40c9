import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { messageOfError } from "../error-message.ts";
import { errorCode } from "../files/system-error.ts";
import { rfc3339 } from "../rfc3339.ts";
import type { Instant } from "../../domain/time.ts";
import { sendDatagram } from "./datagram.ts";

/** A datagram socket of this machine, or a server that receives UDP. */
export type SyslogTarget =
  { readonly path: string } | { readonly host: string; readonly port: number };

/** The numbers of RFC 5424. */
const SYSLOG_SEVERITY = { error: 3, warning: 4, notice: 5, info: 6 } as const;

export interface SyslogMessage {
  readonly severity: keyof typeof SYSLOG_SEVERITY;
  readonly at: Instant;
  readonly hostname: string;
  /** One word: the kind of message. */
  readonly messageId: string;
  readonly text: string;
}

/** The socket of journald, rsyslog and others. */
export const LOCAL_SYSLOG = "/dev/log";

const FACILITY_DAEMON = 3;
const TAG = "berth";
/** Every receiver of RFC 5424 should accept so many bytes; journald accepts more. */
const MAX_BYTES = 2_048;

/** Sends one line, without waiting for a receiver; the reason if that failed, or null. */
export async function sendSyslog(
  target: SyslogTarget,
  message: SyslogMessage,
): Promise<string | null> {
  if ("path" in target) {
    const isSent = sendDatagram(target.path, formatLocal(message));
    return isSent ? null : `nothing receives messages at ${target.path}`;
  }
  try {
    await sendUdp(target, formatRfc5424(message));
    return null;
  } catch (error) {
    const reason = errorCode(error) ?? messageOfError(error);
    return `the message to ${target.host} could not be sent (${reason})`;
  }
}

const priorityOf = ({ severity }: SyslogMessage): number =>
  FACILITY_DAEMON * 8 + SYSLOG_SEVERITY[severity];

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/**
 * What the function syslog() of the C library writes, in the form of RFC 3164. Receivers on the
 * local socket expect that, and add the host's name themselves.
 */
export function formatLocal(message: SyslogMessage): string {
  const date = new Date(message.at);
  const day = String(date.getDate()).padStart(2, " ");
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
  const head = `<${priorityOf(message)}>${MONTHS[date.getMonth()]} ${day} ${time}`;
  return truncate(`${head} ${TAG}[${process.pid}]: ${message.text}`);
}

/** RFC 5424, without structured data. */
export const formatRfc5424 = (message: SyslogMessage): string =>
  truncate(
    [
      `<${priorityOf(message)}>1`,
      rfc3339(message.at),
      /^[\x21-\x7e]{1,255}$/.test(message.hostname) ? message.hostname : "-",
      TAG,
      process.pid,
      message.messageId,
      "-",
      message.text,
    ].join(" "),
  );

/** At a character, not in one. */
function truncate(line: string): string {
  const bytes = new TextEncoder().encode(line);
  if (bytes.length <= MAX_BYTES) return line;
  return new TextDecoder().decode(bytes.subarray(0, MAX_BYTES), { stream: true });
}

async function sendUdp(
  { host, port }: { readonly host: string; readonly port: number },
  text: string,
): Promise<void> {
  const { address, family } = await lookup(host);
  const socket = createSocket(family === 6 ? "udp6" : "udp4");
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.on("error", reject);
  socket.send(text, port, address, (error) => (error === null ? resolve() : reject(error)));
  try {
    await promise;
  } finally {
    socket.close();
  }
}
