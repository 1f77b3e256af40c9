import type { OutgoingRequest } from "./outgoing-request.ts";

/** Who is calling; the secret itself is typed or kept by whoever runs the line. */
export type Caller = "nobody" | "token" | { readonly user: string };

/** The line that sends the same from a terminal of any POSIX shell. */
export function curlCommand(origin: string, sending: OutgoingRequest, caller: Caller): string {
  const { path, headers, body } = sending;
  const words = [`curl -sS ${quoteForShell(`${origin}${path}`)}`];
  for (const [name, value] of Object.entries(headers))
    words.push(`-H ${quoteForShell(`${name}: ${value}`)}`);
  if (caller === "token") words.push('-H "Authorization: Bearer $BERTH_TOKEN"');
  else if (caller !== "nobody") words.push(`-u ${quoteForShell(caller.user)}`);
  if (typeof body === "string") words.push(`--data-raw ${quoteForShell(body)}`);
  else if (body !== null) words.push(`-F ${quoteForShell(`license=@${quoteFileName(body.name)}`)}`);
  return words.join(LINE_CONTINUATION);
}

const LINE_CONTINUATION = " \\\n  ";

/** One word for a shell, whatever is in it. */
const quoteForShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** In a form, curl ends a file's name at these. */
const quoteFileName = (name: string): string =>
  /[;,"]/.test(name) ? `"${name.replaceAll(/["\\]/g, String.raw`\$&`)}"` : name;
