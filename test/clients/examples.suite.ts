// The examples for developers of applications run as documented, and the server shows what they did.
import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runBinary, startBinary } from "../support/binary.ts";
import { repositoryRoot } from "../support/sources.ts";
import { atEnd } from "../support/suite-harness.ts";
import {
  type ExampleProgram,
  LANGUAGES,
  prepareExampleApplication,
  prepareGuideExample,
  readDemoRootKey,
  runExample,
  RunningExample,
} from "./example-programs.ts";

/** A server that nothing listens on. */
const NO_SERVER = "http://127.0.0.1:1";

class Demo {
  readonly url: string;
  readonly rootKey: string;

  static async start(): Promise<Demo> {
    const root = mkdtempSync(join(tmpdir(), "berth-demo-"));
    atEnd(() => rmSync(root, { recursive: true, force: true }));
    const data = join(root, "data");
    const server = await startBinary("demo", "--listen", "127.0.0.1:0", "--data", data);
    atEnd(() => server.signal("SIGKILL"));
    return new Demo(new URL(server.url).origin, readDemoRootKey(data));
  }

  private constructor(url: string, rootKey: string) {
    this.url = url;
    this.rootKey = rootKey;
  }

  async #read<T>(path: string): Promise<T> {
    return (await (await fetch(`${this.url}${path}`)).json()) as T;
  }

  /** The users who hold a slot, each with whether it is borrowed. */
  async readHolders(): Promise<string[]> {
    interface Holder {
      readonly user: string;
      readonly borrowed_until: string | null;
    }
    const holders = await this.#read<Holder[]>("/api/admin/v1/registrations");
    return holders.map(({ user, borrowed_until }) =>
      borrowed_until === null ? user : `${user}, borrowed`,
    );
  }

  async readCounts(): Promise<{ pages: number; exports: number }> {
    interface Counter {
      readonly total_consumptions: number;
    }
    interface License extends Counter {
      readonly product_features: readonly (Counter & { readonly code: string })[];
    }
    const license = await this.#read<License>("/api/v4/license");
    const feature = license.product_features.find(({ code }) => code === "EXPORT");
    return { pages: license.total_consumptions, exports: feature?.total_consumptions ?? -1 };
  }

  /** The types of a user's events, oldest first. */
  async readEvents(user: string): Promise<string[]> {
    interface Audit {
      readonly events: readonly { readonly type: string }[];
    }
    const { events } = await this.#read<Audit>(`/api/admin/v1/audit?user=${user}`);
    return events.map(({ type }) => type).toReversed();
  }
}

describe.each(LANGUAGES)("the examples for %s", (language) => {
  let demo: Demo;
  let application: ExampleProgram;

  beforeAll(async () => {
    demo = await Demo.start();
    application = await prepareExampleApplication(language);
  });

  const run = (user: string, { server = demo.url, command = [] as string[] } = {}) =>
    runExample(application, [server, user, demo.rootKey, ...command]);

  test("the example of the guide holds a slot, counts, and releases the slot", async () => {
    const before = await demo.readCounts();
    const example = new RunningExample(await prepareGuideExample(language), [
      demo.url,
      "eve#ws-17",
    ]);
    await example.waitForOutput("licensed");
    expect(await demo.readHolders()).toEqual(["eve#ws-17"]);
    await example.pressEnter();
    const { code, stdout, stderr } = await example.end();
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toEndWith(`pages: ${before.pages + 3}\n`);
    expect((await demo.readCounts()).pages).toBe(before.pages + 3);
    expect(await demo.readHolders()).toEqual([]);
  });

  test("the application uses a slot and a feature, counts, and releases both", async () => {
    const before = await demo.readCounts();
    const { code, stdout, stderr } = await run("ada");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^waiting for a slot, .*\nlicense \d+ until 20/);
    expect(stdout).toContain("rendering\n");
    expect(stdout).toContain(`${before.pages + 3} of 100 pages are counted\n`);
    expect(stdout).toContain(`${before.exports + 1} of 50 exports are counted\n`);
    expect(await demo.readCounts()).toEqual({
      pages: before.pages + 3,
      exports: before.exports + 1,
    });
    expect(await demo.readHolders()).toEqual([]);
    expect((await demo.readEvents("ada")).filter((type) => /^(?:Slot|Feature)/.test(type))).toEqual(
      expect.arrayContaining(["SlotTaken", "FeatureTaken", "FeatureReleased", "SlotReleased"]),
    );
  });

  test("the application borrows, works without a server, and returns the slot", async () => {
    const borrowed = await run("bob", { command: ["trip"] });
    expect([borrowed.code, borrowed.stderr]).toEqual([0, ""]);
    expect(borrowed.stdout).toStartWith("borrowed until 20");
    expect(await demo.readHolders()).toEqual(["bob, borrowed"]);

    const offline = await run("bob", { server: NO_SERVER });
    expect([offline.code, offline.stderr]).toEqual([0, ""]);
    expect(offline.stdout).toStartWith("offline as bob until 20");

    const returned = await run("bob", { command: ["back"] });
    expect([returned.code, returned.stdout, returned.stderr]).toEqual([0, "returned\n", ""]);
    expect(await demo.readHolders()).toEqual([]);
    expect(existsSync(join(application.folder, "lease.jwt"))).toBe(false);
  });

  test("the application does not work with a lease that was changed", async () => {
    await run("eva", { command: ["trip"] });
    const path = join(application.folder, "lease.jwt");
    const [header, payload = "", signature] = readFileSync(path, "utf8").split(".");
    const claims = Buffer.from(payload, "base64url").toString().replace('"eva"', '"mallory"');
    writeFileSync(path, [header, Buffer.from(claims).toString("base64url"), signature].join("."));
    const { code, stdout, stderr } = await run("mallory");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toStartWith("the saved lease cannot be used: ");
    // It took a slot instead.
    expect(stdout).toContain("rendering\n");
    expect((await run("eva", { command: ["back"] })).code).toBe(0);
  });

  test("the application returns a slot that is not borrowed without an error", async () => {
    const { code, stdout, stderr } = await run("zoe", { command: ["back"] });
    expect([code, stdout, stderr]).toEqual([0, "returned\n", ""]);
  });

  test("the application prints its usage if an argument is missing", async () => {
    const { code, stdout, stderr } = await runExample(application, [demo.url, "ada"]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^usage: .*SERVERS USER ROOT_KEY \[trip\|back\]\n$/);
  });

  test("the application prints one line if the root key is wrong", async () => {
    const { code, stdout, stderr } = await runExample(application, [demo.url, "ada", "wrong"]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^[^\n]*root_?keys[^\n]*\n$/i);
  });

  test("the application prints the reason and fails if there is no server", async () => {
    const { code, stdout, stderr } = await run("ada", { server: NO_SERVER, command: ["trip"] });
    expect(code).not.toBe(0);
    expect(stdout).toBe("");
    expect(stderr).toContain(NO_SERVER);
  });
});

describe("the types for TypeScript", () => {
  /** Compiles a program beside berth.d.ts; returns the messages of the compiler. */
  async function compile(text: string): Promise<string> {
    const { folder } = await prepareGuideExample("javascript");
    writeFileSync(join(folder, "berth.d.ts"), (await runBinary(["client", "typescript"])).stdout);
    writeFileSync(join(folder, "example.ts"), text);
    const types = ["--types", "bun", "--typeRoots", join(repositoryRoot, "node_modules", "@types")];
    const modules = ["--target", "esnext", "--module", "nodenext", "--skipLibCheck"];
    const tsc = [join(repositoryRoot, "node_modules", ".bin", "tsc"), "--noEmit", "--strict"];
    const command = [...tsc, ...modules, ...types, "example.ts"];
    const { stdout } = Bun.spawnSync(command, { cwd: folder });
    return stdout.toString();
  }

  const readExample = async (): Promise<string> => {
    const { folder } = await prepareGuideExample("javascript");
    return readFileSync(join(folder, "example.mjs"), "utf8");
  };

  test("accept the example of the guide", async () => {
    expect(await compile(await readExample())).toBe("");
  });

  test("refuse a misspelt option and a misspelt field", async () => {
    const example = await readExample();
    expect(await compile(example.replace("wait: 60", "wiat: 60"))).toContain("wiat");
    expect(await compile(example.replace("slot.expiresAt", "slot.expires_at"))).toContain(
      "expires_at",
    );
  });
});
