// The reply of Berth to a heartbeat, which the baselines send too, and the check that they do.
import type { ConstantReply } from "./constant-reply.ts";
import { probe, type Answer } from "./probe.ts";
import { heartbeatOf } from "./request-scripts.ts";

/** These are written by the runtime, also for the baselines. */
const WRITTEN_BY_RUNTIME = new Set(["connection", "content-length", "date"]);

/** The reply to a user in the middle, because the length of a name depends on its number. */
export async function readHeartbeatReply(url: string, users: number): Promise<ConstantReply> {
  const { headers, body } = await sendHeartbeat(url, users);
  const own = headers.filter(([name]) => !WRITTEN_BY_RUNTIME.has(name.toLowerCase()));
  return { headers: Object.fromEntries(own), body };
}

/** Throws unless a baseline sends the same body, and headers with the same names and values. */
export async function checkSameReply(
  { name, url }: { readonly name: string; readonly url: string },
  users: number,
  expected: ConstantReply,
): Promise<void> {
  const { headers, body } = await readHeartbeatReply(url, users);
  if (body !== expected.body) throw new Error(`${name} sends another body than Berth`);
  const [shown, wanted] = [headers, expected.headers].map(formatHeaders);
  if (shown !== wanted) throw new Error(`${name} sends other headers than Berth: ${shown}`);
}

async function sendHeartbeat(url: string, users: number): Promise<Answer> {
  const answer = await probe(url, heartbeatOf(url, Math.floor(users / 2)));
  if (answer.status !== 200) throw new Error(`a heartbeat was answered ${answer.status}`);
  return answer;
}

const formatHeaders = (headers: ConstantReply["headers"]): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name.toLowerCase()}: ${value}`)
    .toSorted()
    .join(", ");
