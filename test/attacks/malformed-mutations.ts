// Proper requests and known tricks with their bytes changed where the framing is.
import { knownCases, registrationRequest, type MalformedCase } from "./malformed-cases.ts";

const PIECES = [
  ..."\r\n|\n|\r|\0| |\t|:|;|,|\r\n\r\n|\n\n|0\r\n\r\n|\x0b|\x7f|\xff| HTTP/1.1|HTTP/1.0|#|?".split(
    "|",
  ),
  "Content-Length: 0\r\n",
  "Content-Length: 7\r\n",
  "Transfer-Encoding: chunked\r\n",
  "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
  "Transfer-encoding : chunked\r\n",
  "Connection: close\r\n",
  "Expect: 100-continue\r\n",
  "Host: localhost\r\n",
  "X: ",
  "5;ext=1\r\n",
];

const chunkedPost = (user: string): string => {
  const body = JSON.stringify({ product: "cad", user });
  const size = body.length.toString(16);
  return (
    "POST /api/v4/register HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
    `Transfer-Encoding: chunked\r\n\r\n${size}\r\n${body}\r\n0\r\n\r\n`
  );
};

/** A request whose whole body is another request: read short, it sets the other one free. */
const nested = (user: string): string => {
  const inner = registrationRequest(user);
  return (
    "POST /api/v4/register HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
    `Content-Length: ${inner.length}\r\n\r\n${inner}`
  );
};

const known = knownCases().filter(({ bytes }) => bytes.length < 10_000);

/** The `index`th one: every name is used once. */
export function mutatedCase(index: number, random: () => number): MalformedCase {
  const roll = (most: number): number => Math.floor(random() * most);
  const user = `stowaway-m${index}`;
  const trick = known[roll(known.length)];
  const texts = [
    registrationRequest(user),
    chunkedPost(user),
    nested(user),
    `${registrationRequest(`${user}a`)}${nested(`${user}b`)}`,
    trick?.bytes.toString("latin1").replaceAll(trick.smuggledUser, user) ?? "",
  ];
  let text = texts[roll(texts.length)] ?? "";
  for (let edits = roll(4); edits > 0; edits -= 1) {
    const at = roll(text.length);
    const piece = PIECES[roll(PIECES.length)] ?? "";
    const cut = [0, 0, 1, 2, 8][roll(5)] ?? 0;
    // Half of the edits at a line's end, where the meaning of the bytes is decided.
    const line = text.indexOf("\r\n", at);
    const place = roll(2) === 0 && line >= 0 ? line + roll(3) : at;
    text = text.slice(0, place) + piece + text.slice(place + cut);
  }
  return { name: `generated ${index}`, smuggledUser: user, bytes: Buffer.from(text, "latin1") };
}
