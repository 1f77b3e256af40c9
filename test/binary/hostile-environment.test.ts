// The executable must not depend on the folder and the environment in which it is started.
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
  /** The command that starts the binary, with its arguments. */
  readonly launcher?: readonly string[];
  readonly binary?: string;
}

function spawn(
  args: readonly string[],
  { cwd = "/", env = {}, launcher = [], binary }: SpawnOptions,
) {
  const child = Bun.spawn([...launcher, binary ?? buildBinary(), ...args], {
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

async function runToEnd(args: readonly string[], options: SpawnOptions = {}) {
  const child = spawn(args, options);
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { code: await child.exited, stdout, stderr };
}

/** Starts a server and waits until it is ready. */
async function startServer(args: readonly string[], options: SpawnOptions = {}) {
  const child = spawn(args, options);
  const stderr = child.stderr.text();
  const decoder = new TextDecoder();
  let stdout = "";
  for await (const part of child.stdout) {
    stdout += decoder.decode(part, { stream: true });
    if (/^ready$/m.test(stdout)) break;
  }
  if (!/^ready$/m.test(stdout)) throw new Error(`not ready: ${stdout}${await stderr}`);
  return {
    stdout,
    pid: child.pid,
    url: /http:\/\/[\d.]+:\d+/.exec(stdout)?.[0] ?? "",
    async stop() {
      child.kill("SIGTERM");
      return { code: await child.exited, stderr: await stderr };
    },
  };
}

const LISTEN = ["--listen", "127.0.0.1:0"];

/** A folder with files that a runtime might load; `proof` appears if it runs their code. */
function makeHostileFolder(): { folder: string; proof: string; code: string } {
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

describe("a server", () => {
  test("ignores bunfig.toml, .env, package.json, tsconfig.json and node_modules in its working directory", async () => {
    const { folder, proof } = makeHostileFolder();
    const before = contentsOf(folder);
    const data = join(tempFolder(), "data");
    const server = await startServer(["serve", "--data", data, ...LISTEN], { cwd: folder });
    expect((await fetch(`${server.url}/api/v4/health`)).status).toBe(200);
    expect((await runToEnd(["status", "--data", data], { cwd: folder })).code).toBe(0);
    // The checkpoint runs in its own process, started in the same folder.
    expect((await server.stop()).code).toBe(0);
    expect(existsSync(proof)).toBe(false);
    expect(contentsOf(folder)).toEqual(before);
    const { stdout } = await runToEnd(["config", "--json"], { cwd: folder });
    expect(stdout).not.toContain("elsewhere");
  });

  test("starts in a working directory that it cannot write to", async () => {
    const cwd = existsSync("/proc/self/fdinfo") ? "/proc/self/fdinfo" : "/";
    const server = await startServer(["demo", ...LISTEN], { cwd });
    const { host } = new URL(server.url);
    expect((await fetch(`http://${host}/api/v4/health`)).status).toBe(200);
    expect((await server.stop()).code).toBe(0);
  });
});

describe("environment variables", () => {
  type ValueOf = (code: string, folder: string) => string;

  const HOSTILE: Readonly<Record<string, ValueOf>> = {
    NODE_OPTIONS: (code) => `--require=${code}`,
    NODE_PATH: (_code, folder) => join(folder, "node_modules"),
    BUN_CONFIG_FILE: (_code, folder) => join(folder, "bunfig.toml"),
    BUN_INSPECT_PRELOAD: (code) => code,
    NODE_ENV: () => "development",
    BUN_INSTALL: (_code, folder) => folder,
    HOME: (_code, folder) => folder,
    TMPDIR: () => "/nowhere",
    LANG: () => "tr_TR.UTF-8",
    TZ: () => "Pacific/Kiritimati",
  };

  // A runtime that reads XDG_CONFIG_HOME does not read HOME.
  test.each([
    ["of the runtime and the system inject no code", HOSTILE],
    ["XDG_CONFIG_HOME injects no code", { XDG_CONFIG_HOME: (_code, folder) => folder }],
  ] as readonly (readonly [string, Readonly<Record<string, ValueOf>>])[])(
    "%s, and the server works",
    async (_title, variables) => {
      const env: Record<string, string> = {};
      const proofs: Record<string, string> = {};
      for (const [name, valueOf] of Object.entries(variables)) {
        // Each in a folder of its own, so that a failure names the variable.
        const { folder, proof, code } = makeHostileFolder();
        env[name] = valueOf(code, folder);
        proofs[name] = proof;
      }
      const { folder, proof } = makeHostileFolder();
      const data = join(tempFolder(), "data");
      const server = await startServer(["serve", "--data", data, ...LISTEN], { cwd: folder, env });
      expect((await fetch(`${server.url}/api/v4/health`)).status).toBe(200);
      expect((await server.stop()).code).toBe(0);
      const written = Object.entries({ ...proofs, "the working folder": proof });
      expect(written.filter(([, path]) => existsSync(path)).map(([name]) => name)).toEqual([]);
    },
  );

  test("are not needed: the demo runs even without HOME and PATH", async () => {
    const server = await startServer(["demo", ...LISTEN], { env: {} });
    expect((await server.stop()).code).toBe(0);
  });

  test.each([
    ["serve", "BUN_INSPECT", "ws://127.0.0.1:0/debug"],
    ["serve", "BUN_INSPECT_CONNECT_TO", "ws://127.0.0.1:1/debug"],
    ["demo", "BUN_INSPECT", "ws://127.0.0.1:0/debug"],
  ])(
    "berth %s refuses to start with %s, which would let a debugger in",
    async (command, name, value) => {
      const data = join(tempFolder(), "data");
      const refused = await runToEnd([command, "--data", data, ...LISTEN], {
        env: { [name]: value },
      });
      expect([refused.code, refused.stdout]).toEqual([1, ""]);
      expect(refused.stderr).toContain(`berth: error: ${name} is set`);
      expect(refused.stderr).toContain(`berth: hint: unset ${name}`);
      expect(existsSync(data)).toBe(false);
    },
  );

  // These two cannot be blocked, because the runtime reads them before any of our code runs. A user
  // who can set them for a process could as well start another program. The unit unsets both.
  test("BUN_OPTIONS and BUN_BE_BUN still have the effect that SECURITY.md describes", async () => {
    const { folder, proof, code } = makeHostileFolder();
    await runToEnd(["version"], { env: { BUN_OPTIONS: `--preload=${code}` }, cwd: folder });
    const other = await runToEnd(["--version"], { env: { BUN_BE_BUN: "1" }, cwd: "/" });
    expect([existsSync(proof), other.stdout]).toEqual([true, `${Bun.version}\n`]);
    const { stdout: unit } = await runToEnd(["service", "print"]);
    expect(unit).toMatch(/^UnsetEnvironment=.*\bBUN_OPTIONS\b.*\bBUN_BE_BUN\b/m);
  });
});

/** Whether this process can start others without a network and with an empty /etc. */
const canUnshare = Bun.spawnSync([
  "unshare",
  "-rmn",
  "mount",
  "-t",
  "tmpfs",
  "none",
  "/etc",
]).success;

describe.skipIf(!canUnshare)("a server in its own namespaces", () => {
  const unshare = (setup: string): string[] => [
    "unshare",
    "-rmn",
    "sh",
    "-c",
    `${setup}; exec "$@"`,
    "sh",
  ];

  test("is reached by the command line without any network, loopback included", async () => {
    const data = join(tempFolder(), "data");
    const args = ["demo", "--data", data, "--listen", "0.0.0.0:0"];
    const server = await startServer(args, { launcher: unshare("true") });
    const { code, stdout } = await runToEnd(["status", "--data", data]);
    expect([code, stdout]).toEqual([0, expect.stringContaining("served by process ")]);
    expect((await runToEnd(["license", "list", "--data", data])).stdout).toContain("DEMO");
    expect((await server.stop()).code).toBe(0);
  });

  test("runs without /etc, so without resolv.conf, hosts, passwd and machine-id", async () => {
    const data = join(tempFolder(), "data");
    const server = await startServer(["demo", "--data", data, ...LISTEN], {
      launcher: unshare("mount -t tmpfs none /etc"),
    });
    expect((await runToEnd(["slots", "--data", data])).code).toBe(0);
    expect((await server.stop()).code).toBe(0);
  });
});

const isRoot = process.getuid?.() === 0;

test.skipIf(!isRoot || Bun.which("setpriv") === null)(
  "a server runs as a user that can write only its data folder",
  async () => {
    const NOBODY = 65_534;
    const parent = tempFolder();
    chmodSync(parent, 0o755);
    const [binary, data] = [join(parent, "berth"), join(parent, "data")];
    copyFileSync(buildBinary(), binary);
    chmodSync(binary, 0o755);
    mkdirSync(data, { mode: 0o700 });
    chownSync(data, NOBODY, NOBODY);
    const launcher = [
      "setpriv",
      "--reuid=65534",
      "--regid=65534",
      "--clear-groups",
      "--no-new-privs",
      // A user cannot raise the priority again to the one that a checkpoint has.
      "nice",
      "-n19",
    ];
    const options = { launcher, binary, cwd: parent, env: { PATH: "/usr/bin:/bin" } };
    // Without --data, the data folder is beside the executable.
    const server = await startServer(["serve", ...LISTEN], options);
    expect(server.stdout).toContain(data);
    expect((await fetch(`${server.url}/api/v4/health`)).status).toBe(200);
    expect((await server.stop()).code).toBe(0);
    expect(readdirSync(parent).toSorted()).toEqual(["berth", "data"]);
    chownSync(data, 0, 0);
    const refused = await runToEnd(["serve", ...LISTEN], options);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("berth: hint: run the command with sudo\n");
  },
);

describe("a second server", () => {
  test("on the same folder is refused and names the process that uses it", async () => {
    const data = join(tempFolder(), "data");
    const first = await startServer(["serve", "--data", data, ...LISTEN]);
    const second = await runToEnd(["serve", "--data", data, ...LISTEN]);
    expect([second.code, second.stdout]).toEqual([1, ""]);
    expect(second.stderr).toContain(`${data} is in use by process ${first.pid} (`);
    expect((await fetch(`${first.url}/api/v4/health`)).status).toBe(200);
  });

  test.each(["127.0.0.1", "0.0.0.0", "[::]"])(
    "on the same port of %s is refused and names the process that uses it",
    async (host) => {
      const parent = tempFolder();
      const first = await startServer([
        "serve",
        "--data",
        join(parent, "a"),
        "--listen",
        "0.0.0.0:0",
      ]);
      const { port } = new URL(/http:\S+:\d+/.exec(first.stdout)?.[0] ?? "");
      const args = ["serve", "--data", join(parent, "b"), "--listen", `${host}:${port}`];
      const second = await runToEnd(args);
      expect([second.code, second.stdout]).toEqual([1, ""]);
      expect(second.stderr).toContain(`is in use by process ${first.pid} (`);
      expect(existsSync(join(parent, "b"))).toBe(false);
      expect((await fetch(`http://127.0.0.1:${port}/api/v4/health`)).status).toBe(200);
    },
  );

  test("on the same TLS port is refused and names the process that uses it", async () => {
    // A TLS port differs from a plain one: the listener of a new certificate takes it over.
    const parent = tempFolder();
    const [firstFolder, secondFolder] = [join(parent, "a"), join(parent, "b")];
    for (const data of [firstFolder, secondFolder]) {
      mkdirSync(data, { mode: 0o700 });
      expect((await runToEnd(["tls", "init", "--data", data])).code).toBe(0);
    }
    const listenOn = (port: string): string[] => [...LISTEN, "--listen-tls", `127.0.0.1:${port}`];
    const first = await startServer(["serve", "--data", firstFolder, ...listenOn("0")]);
    const { port } = new URL(/https:\S+:\d+/.exec(first.stdout)?.[0] ?? "");
    const second = await runToEnd(["serve", "--data", secondFolder, ...listenOn(port)]);
    expect([second.code, second.stdout]).toEqual([1, ""]);
    expect(second.stderr).toContain(`port ${port} on 127.0.0.1 is in use by process ${first.pid}`);
  });
});
