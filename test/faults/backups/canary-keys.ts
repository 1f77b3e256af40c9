// Two cloud keys that occur nowhere by chance, set the way an operator sets them; neither they nor
// what seals them may be in a backup, in any spelling.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildBinary } from "../../support/binary.ts";

interface Secret {
  readonly name: string;
  readonly spellings: readonly Buffer[];
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
  if ((await child.exited) !== 0) throw new Error(`keys set: ${await child.stderr.text()}`);
  const secrets = [
    secret("the API key", Buffer.from(apiKey)),
    secret("the shared key", Buffer.from(sharedKey)),
    ...["sealing.key", "credentials.sealed"].map((name) =>
      secret(name, readFileSync(join(folder, name))),
    ),
  ];
  for (const { name, spellings } of secrets) {
    const control = Buffer.concat([Buffer.from("before "), spellings[0] ?? Buffer.alloc(0)]);
    if (!findLeaks([{ name, spellings }], control).includes(name))
      throw new Error(`${name} is short`);
  }
  return secrets;
}

/** The names of the secrets that are in it. */
export const findLeaks = (secrets: Secrets, bytes: Buffer): string[] =>
  secrets
    .filter(({ spellings }) => spellings.some((spelling) => bytes.includes(spelling)))
    .map(({ name }) => name);

/** As it is, in hexadecimal, and in Base64 wherever in it the secret begins. */
function secret(name: string, bytes: Buffer): Secret {
  const base64 = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString("base64")
      .slice(4, -6),
  );
  const url = base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_"));
  const texts = [bytes.toString("hex"), ...base64, ...url].map((text) => Buffer.from(text));
  return { name, spellings: [bytes, ...texts].filter(({ length }) => length >= 16) };
}
