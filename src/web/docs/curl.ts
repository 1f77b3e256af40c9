import type { OutgoingRequest } from "./outgoing-request.ts";

/** How the request authenticates; the secret itself is never part of the command. */
export type Caller = "anonymous" | "token" | { readonly user: string };

/** The curl command that sends the same request, for any POSIX shell. */
export function curlCommand(origin: string, request: OutgoingRequest, caller: Caller): string {
  const { path, headers, body } = request;
  const words = [`curl -sS ${quoteForShell(`${origin}${path}`)}`];
  for (const [name, value] of Object.entries(headers))
    words.push(`-H ${quoteForShell(`${name}: ${value}`)}`);
  if (caller === "token") words.push('-H "Authorization: Bearer $BERTH_TOKEN"');
  else if (caller !== "anonymous") words.push(`-u ${quoteForShell(caller.user)}`);
  if (typeof body === "string") words.push(`--data-raw ${quoteForShell(body)}`);
  else if (body !== null) words.push(`-F ${quoteForShell(`license=@${quoteFileName(body.name)}`)}`);
  return words.join(LINE_CONTINUATION);
}

const LINE_CONTINUATION = " \\\n  ";

/** Quotes a text, so that a shell reads it as one word. */
const quoteForShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** In a form field, curl ends a file name at these characters. */
const quoteFileName = (name: string): string =>
  /[;,"]/.test(name) ? `"${name.replaceAll(/["\\]/g, String.raw`\$&`)}"` : name;
