import type { Sending } from "./sending.ts";

/** Who is calling; the secret itself is typed or kept by whoever runs the line. */
export type Caller = "nobody" | "token" | { readonly user: string };

/** The line that sends the same from a terminal of any POSIX shell. */
export function curlLine(origin: string, sending: Sending, caller: Caller): string {
  const { path, headers, body } = sending;
  const words = [`curl -sS ${quoted(`${origin}${path}`)}`];
  for (const [name, value] of Object.entries(headers))
    words.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (caller === "token") words.push('-H "Authorization: Bearer $BERTH_TOKEN"');
  else if (caller !== "nobody") words.push(`-u ${quoted(caller.user)}`);
  if (typeof body === "string") words.push(`--data-raw ${quoted(body)}`);
  else if (body !== null) words.push(`-F ${quoted(`license=@${formName(body.name)}`)}`);
  return words.join(CONTINUED);
}

const CONTINUED = " \\\n  ";

/** One word for a shell, whatever is in it. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** In a form, curl ends a file's name at these. */
const formName = (name: string): string =>
  /[;,"]/.test(name) ? `"${name.replaceAll(/["\\]/g, String.raw`\$&`)}"` : name;
