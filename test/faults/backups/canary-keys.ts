// Sets two random cloud keys with `berth keys set`, as an operator does. Neither these keys nor the
// files that seal them may occur in a backup, in any encoding.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildBinary } from "../../support/binary.ts";

interface Secret {
  readonly name: string;
  readonly encodings: readonly Buffer[];
}

export type Secrets = readonly Secret[];

export async function setCanaryKeys(folder: string): Promise<Secrets> {
  const [apiKey, sharedKey] = [`api+${crypto.randomUUID()}/=`, `shared+${crypto.randomUUID()}/=`];
  const child = Bun.spawn([buildBinary(), "keys", "set", "-", "--data", folder], {
    stdin: Buffer.from(`apiKey=${apiKey}\nsharedKey=${sharedKey}\n`),
    stdout: "ignore",
    stderr: "pipe",
    cwd: "/",
    env: {},
  });
  if ((await child.exited) !== 0)
    throw new Error(`berth keys set failed: ${await child.stderr.text()}`);
  const secrets = [
    makeSecret("the API key", Buffer.from(apiKey)),
    makeSecret("the shared key", Buffer.from(sharedKey)),
    ...["sealing.key", "credentials.sealed"].map((name) =>
      makeSecret(name, readFileSync(join(folder, name))),
    ),
  ];
  // Proves that the search finds each secret, so that an empty result means something.
  for (const { name, encodings } of secrets) {
    const control = Buffer.concat([Buffer.from("before "), encodings[0] ?? Buffer.alloc(0)]);
    if (!findLeaks([{ name, encodings }], control).includes(name))
      throw new Error(`${name} is too short to be searched for`);
  }
  return secrets;
}

/** The names of the secrets that `bytes` contain. */
export const findLeaks = (secrets: Secrets, bytes: Buffer): string[] =>
  secrets
    .filter(({ encodings }) => encodings.some((encoding) => bytes.includes(encoding)))
    .map(({ name }) => name);

/** A secret in raw bytes, in hexadecimal, and in Base64 at each of the three possible offsets. */
function makeSecret(name: string, bytes: Buffer): Secret {
  const base64 = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString("base64")
      .slice(4, -6),
  );
  const base64Url = base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_"));
  const texts = [bytes.toString("hex"), ...base64, ...base64Url].map((text) => Buffer.from(text));
  return { name, encodings: [bytes, ...texts].filter(({ length }) => length >= 16) };
}
