// Mutations of proper requests and of known tricks: their bytes are changed where the framing is.
import { knownCases, registrationRequest, type MalformedCase } from "./malformed-cases.ts";

const FRAGMENTS = [
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

/**
 * The body is another request: a parser that ends the body too early takes it for the next request.
 */
const nestedPost = (user: string): string => {
  const inner = registrationRequest(user);
  return (
    "POST /api/v4/register HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
    `Content-Length: ${inner.length}\r\n\r\n${inner}`
  );
};

const shortCases = knownCases().filter(({ bytes }) => bytes.length < 10_000);

/** Makes the mutation number `index`; every user name is used once. */
export function mutatedCase(index: number, random: () => number): MalformedCase {
  const roll = (limit: number): number => Math.floor(random() * limit);
  const user = `smuggled-m${index}`;
  const knownCase = shortCases[roll(shortCases.length)];
  const texts = [
    registrationRequest(user),
    chunkedPost(user),
    nestedPost(user),
    `${registrationRequest(`${user}a`)}${nestedPost(`${user}b`)}`,
    knownCase?.bytes.toString("latin1").replaceAll(knownCase.smuggledUser, user) ?? "",
  ];
  let text = texts[roll(texts.length)] ?? "";
  for (let edits = roll(4); edits > 0; edits -= 1) {
    const at = roll(text.length);
    const fragment = FRAGMENTS[roll(FRAGMENTS.length)] ?? "";
    const removed = [0, 0, 1, 2, 8][roll(5)] ?? 0;
    // Half of the edits are at the end of a line, where the framing is decided.
    const lineEnd = text.indexOf("\r\n", at);
    const offset = roll(2) === 0 && lineEnd >= 0 ? lineEnd + roll(3) : at;
    text = text.slice(0, offset) + fragment + text.slice(offset + removed);
  }
  return { name: `mutation ${index}`, smuggledUser: user, bytes: Buffer.from(text, "latin1") };
}
