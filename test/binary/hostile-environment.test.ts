// One file, wherever it is started and whatever surrounds it there.
import { describe, expect, onTestFinished, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { buildBinary } from "../support/binary.ts";
import { contentsOf, tempFolder } from "../support/temp-folder.ts";

interface SpawnOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Words before the binary's own: what starts it. */
  readonly launcher?: readonly string[];
  readonly binary?: string;
}

function spawn(
  words: readonly string[],
  { cwd = "/", env = {}, launcher = [], binary }: SpawnOptions,
) {
  const child = Bun.spawn([...launcher, binary ?? buildBinary(), ...words], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    cwd,
    env,
  });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await child.exited;
  });
  return child;
}

async function runToEnd(words: readonly string[], around: SpawnOptions = {}) {
  const child = spawn(words, around);
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { code: await child.exited, stdout, stderr };
}

/** Starts it and waits until it is ready. */
async function startServer(words: readonly string[], around: SpawnOptions = {}) {
  const child = spawn(words, around);
  const complaint = child.stderr.text();
  const decoder = new TextDecoder();
  let said = "";
  for await (const part of child.stdout) {
    said += decoder.decode(part, { stream: true });
    if (/^ready$/m.test(said)) break;
  }
  if (!/^ready$/m.test(said)) throw new Error(`not ready: ${said}${await complaint}`);
  return {
    said,
    pid: child.pid,
    url: /http:\/\/[\d.]+:\d+/.exec(said)?.[0] ?? "",
    async stop() {
      child.kill("SIGTERM");
      return { code: await child.exited, stderr: await complaint };
    },
  };
}

const LISTEN = ["--listen", "127.0.0.1:0"];

/** A folder with everything in it that a runtime might pick up; `proof` is there if it did. */
function hostileFolder(): { folder: string; proof: string; code: string } {
  const folder = tempFolder();
  const proof = join(folder, "proof");
  const code = join(folder, "code.js");
  const text = `require("node:fs").writeFileSync(${JSON.stringify(proof)}, "");\n`;
  const put = (name: string, content: string): void => {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), content);
  };
  put("code.js", text);
  put("bunfig.toml", 'preload = ["./code.js"]\n[run]\npreload = ["./code.js"]\n');
  put(".env", `BERTH_DATA=${folder}/elsewhere\nBERTH_LISTEN=nonsense\n`);
  put(".env.production", `BERTH_DATA=${folder}/elsewhere\n`);
  put("package.json", '{"type":"commonjs","imports":{"#*":"./code.js"},"main":"code.js"}');
  put("tsconfig.json", '{"compilerOptions":{"paths":{"*":["./code.js"]}}}');
  for (const name of ["elysia", "lowdb", "jose", "bun", "elysia/adapter/bun"]) {
    put(`node_modules/${name}/index.js`, text);
    put(`node_modules/${name}/package.json`, `{"name":"${name}","main":"index.js"}`);
  }
  return { folder, proof, code };
}

describe("what lies where it is started does not matter", () => {
  test("bunfig.toml, .env, package.json, tsconfig.json, node_modules", async () => {
    const { folder, proof } = hostileFolder();
    const before = contentsOf(folder);
    const data = join(tempFolder(), "data");
    const server = await startServer(["serve", "--data", data, ...LISTEN], { cwd: folder });
    expect((await fetch(`${server.url}/api/v4/health`)).status).toBe(200);
    expect((await runToEnd(["status", "--data", data], { cwd: folder })).code).toBe(0);
    // Its checkpoint is a process of its own, started from the same folder.
    expect((await server.stop()).code).toBe(0);
    expect(existsSync(proof)).toBe(false);
    expect(contentsOf(folder)).toEqual(before);
    const { stdout } = await runToEnd(["config", "--json"], { cwd: folder });
    expect(stdout).not.toContain("elsewhere");
  });

  test("a folder it may not write to", async () => {
    const cwd = existsSync("/proc/self/fdinfo") ? "/proc/self/fdinfo" : "/";
    const server = await startServer(["demo", ...LISTEN], { cwd });
    const { host } = new URL(server.url);
    expect((await fetch(`http://${host}/api/v4/health`)).status).toBe(200);
    expect((await server.stop()).code).toBe(0);
  });
});

describe("the environment", () => {
  const HOSTILE: readonly (readonly [string, (code: string, folder: string) => string])[] = [
    ["NODE_OPTIONS", (code) => `--require=${code}`],
    ["NODE_PATH", (_code, folder) => join(folder, "node_modules")],
    ["BUN_CONFIG_FILE", (_code, folder) => join(folder, "bunfig.toml")],
    ["BUN_INSPECT_PRELOAD", (code) => code],
    ["NODE_ENV", () => "development"],
    ["BUN_INSTALL", (_code, folder) => folder],
    ["HOME", (_code, folder) => folder],
    ["XDG_CONFIG_HOME", (_code, folder) => folder],
    ["TMPDIR", () => "/nowhere"],
    ["LANG", () => "tr_TR.UTF-8"],
    ["TZ", () => "Pacific/Kiritimati"],
  ];

  test.each(HOSTILE)("%s runs nothing and changes nothing", async (name, value) => {
    const { folder, proof, code } = hostileFolder();
    const env = { [name]: value(code, folder) };
    const data = join(tempFolder(), "data");
    const server = await startServer(["serve", "--data", data, ...LISTEN], { cwd: folder, env });
    expect((await fetch(`${server.url}/api/v4/health`)).status).toBe(200);
    expect((await server.stop()).code).toBe(0);
    expect(existsSync(proof)).toBe(false);
  });

  test("without any variable, HOME and PATH included, it is served", async () => {
    const server = await startServer(["demo", ...LISTEN], { env: {} });
    expect((await server.stop()).code).toBe(0);
  });

  test.each([
    ["serve", "BUN_INSPECT", "ws://127.0.0.1:0/debug"],
    ["serve", "BUN_INSPECT_CONNECT_TO", "ws://127.0.0.1:1/debug"],
    ["demo", "BUN_INSPECT", "ws://127.0.0.1:0/debug"],
  ])("berth %s does not serve with %s, which lets a debugger in", async (command, name, value) => {
    const data = join(tempFolder(), "data");
    const said = await runToEnd([command, "--data", data, ...LISTEN], { env: { [name]: value } });
    expect([said.code, said.stdout]).toEqual([1, ""]);
    expect(said.stderr).toContain(`berth: error: ${name} is set`);
    expect(said.stderr).toContain(`berth: hint: unset ${name}`);
    expect(existsSync(data)).toBe(false);
  });

  // Two more that cannot be kept out, because the runtime reads them before any of our code: whoever
  // sets them for a process could as well start another one. The unit unsets both.
  test("BUN_OPTIONS and BUN_BE_BUN are still what SECURITY.md says of them", async () => {
    const { folder, proof, code } = hostileFolder();
    await runToEnd(["version"], { env: { BUN_OPTIONS: `--preload=${code}` }, cwd: folder });
    const other = await runToEnd(["--version"], { env: { BUN_BE_BUN: "1" }, cwd: "/" });
    expect([existsSync(proof), other.stdout]).toEqual([true, `${Bun.version}\n`]);
    const { stdout: unit } = await runToEnd(["service", "print"]);
    expect(unit).toMatch(/^UnsetEnvironment=.*\bBUN_OPTIONS\b.*\bBUN_BE_BUN\b/m);
  });
});

/** Can this process start others apart from the network, from /etc, and both? */
const canUnshare = Bun.spawnSync([
  "unshare",
  "-rmn",
  "mount",
  "-t",
  "tmpfs",
  "none",
  "/etc",
]).success;

describe.skipIf(!canUnshare)("apart from everything", () => {
  const apart = (first: string): string[] => [
    "unshare",
    "-rmn",
    "sh",
    "-c",
    `${first}; exec "$@"`,
    "sh",
  ];

  test("no network at all, not even loopback: the command line reaches it all the same", async () => {
    const data = join(tempFolder(), "data");
    const words = ["demo", "--data", data, "--listen", "0.0.0.0:0"];
    const server = await startServer(words, { launcher: apart("true") });
    const { code, stdout } = await runToEnd(["status", "--data", data]);
    expect([code, stdout]).toEqual([0, expect.stringContaining("served by process ")]);
    expect((await runToEnd(["license", "list", "--data", data])).stdout).toContain("DEMO");
    expect((await server.stop()).code).toBe(0);
  });

  test("no /etc: no resolv.conf, no hosts, no passwd, no machine-id", async () => {
    const data = join(tempFolder(), "data");
    const server = await startServer(["demo", "--data", data, ...LISTEN], {
      launcher: apart("mount -t tmpfs none /etc"),
    });
    expect((await runToEnd(["slots", "--data", data])).code).toBe(0);
    expect((await server.stop()).code).toBe(0);
  });
});

const isRoot = process.getuid?.() === 0;

test.skipIf(!isRoot || Bun.which("setpriv") === null)(
  "as a user that may write its data folder and nothing else",
  async () => {
    const NOBODY = 65_534;
    const parent = tempFolder();
    chmodSync(parent, 0o755);
    const [binary, data] = [join(parent, "berth"), join(parent, "data")];
    copyFileSync(buildBinary(), binary);
    chmodSync(binary, 0o755);
    mkdirSync(data, { mode: 0o700 });
    chownSync(data, NOBODY, NOBODY);
    const by = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"];
    const around = { by, binary, cwd: parent, env: { PATH: "/usr/bin:/bin" } };
    // No --data: beside the executable is where it belongs.
    const server = await startServer(["serve", ...LISTEN], around);
    expect(server.said).toContain(data);
    expect((await fetch(`${server.url}/api/v4/health`)).status).toBe(200);
    expect((await server.stop()).code).toBe(0);
    expect(readdirSync(parent).toSorted()).toEqual(["berth", "data"]);
    chownSync(data, 0, 0);
    const refused = await runToEnd(["serve", ...LISTEN], around);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("berth: hint: run the command with sudo\n");
  },
);

describe("two copies", () => {
  test("on one folder: the second says which process holds it", async () => {
    const data = join(tempFolder(), "data");
    const first = await startServer(["serve", "--data", data, ...LISTEN]);
    const second = await runToEnd(["serve", "--data", data, ...LISTEN]);
    expect([second.code, second.stdout]).toEqual([1, ""]);
    expect(second.stderr).toContain(`${data} is in use by process ${first.pid} (`);
    expect((await fetch(`${first.url}/api/v4/health`)).status).toBe(200);
  });

  test.each(["127.0.0.1", "0.0.0.0", "[::]"])("on one port, %s: the same", async (host) => {
    const parent = tempFolder();
    const first = await startServer([
      "serve",
      "--data",
      join(parent, "a"),
      "--listen",
      "0.0.0.0:0",
    ]);
    const { port } = new URL(/http:\S+:\d+/.exec(first.said)?.[0] ?? "");
    const words = ["serve", "--data", join(parent, "b"), "--listen", `${host}:${port}`];
    const second = await runToEnd(words);
    expect([second.code, second.stdout]).toEqual([1, ""]);
    expect(second.stderr).toContain(`is in use by process ${first.pid} (`);
    expect(existsSync(join(parent, "b"))).toBe(false);
    expect((await fetch(`http://127.0.0.1:${port}/api/v4/health`)).status).toBe(200);
  });

  test("on one port for TLS, which a new certificate takes over: the same", async () => {
    const parent = tempFolder();
    const [one, two] = [join(parent, "a"), join(parent, "b")];
    for (const data of [one, two]) {
      mkdirSync(data, { mode: 0o700 });
      expect((await runToEnd(["tls", "init", "--data", data])).code).toBe(0);
    }
    const tls = (port: string): string[] => [...LISTEN, "--listen-tls", `127.0.0.1:${port}`];
    const first = await startServer(["serve", "--data", one, ...tls("0")]);
    const { port } = new URL(/https:\S+:\d+/.exec(first.said)?.[0] ?? "");
    const second = await runToEnd(["serve", "--data", two, ...tls(port)]);
    expect([second.code, second.stdout]).toEqual([1, ""]);
    expect(second.stderr).toContain(`port ${port} on 127.0.0.1 is in use by process ${first.pid}`);
  });
});
