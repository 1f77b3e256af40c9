// The heartbeat of a server that is not Berth.
import type { PeerRequest } from "./peer-options.ts";
import { contactOf, heartbeatFields, userOf } from "./populated-site.ts";

export function peerHeartbeatOf(url: string, request: PeerRequest, index: number): Buffer {
  const { method, target } = request;
  const values = { user: userOf(index), hostname: contactOf(index).hostname, index: String(index) };
  const fill = (text: string, encode = (value: string) => value): string =>
    text.replaceAll(/\{(user|hostname|index)\}/g, (_, name: keyof typeof values) =>
      encode(values[name]),
    );
  const usualBody = method === "GET" ? "" : JSON.stringify(heartbeatFields(index));
  const body = request.body === null ? usualBody : fill(request.body);
  const headers = request.headers.map((line) => fill(line));
  const hasHeader = (name: string): boolean =>
    headers.some((line) => line.toLowerCase().startsWith(`${name}:`));
  if (!hasHeader("host")) headers.unshift(`Host: ${new URL(url).host}`);
  if (body !== "" && !hasHeader("content-type")) headers.push("Content-Type: application/json");
  if (body !== "" || method !== "GET") headers.push(`Content-Length: ${Buffer.byteLength(body)}`);
  const head = [`${method} ${fill(target, encodeURIComponent)} HTTP/1.1`, ...headers];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
}
