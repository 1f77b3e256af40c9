import { describe, expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Wrapper, runWrapped, scriptedServer } from "../../support/run-wrapper.ts";
import { granted, refused } from "../../support/scripted-server.ts";
import { runBerth } from "../../support/run-berth.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const CLOSED_PORT = "http://127.0.0.1:1";

const PLAIN = ["--product", "CAD", "--server", "https://berth.example,http://berth.example:8080"];
const LOGIN = [...PLAIN, "--login", "ada", "--password-file", "no-such-file"];

describe("berth run exits", () => {
  test("with the exit code of the command, and releases the slot", async () => {
    const server = scriptedServer(() => granted());
    const { code, stdout, stderr } = await runWrapped(server, [], ["sh", "-c", "echo out; exit 7"]);
    expect([code, stdout, stderr]).toEqual([7, "out\n", ""]);
    expect(server.operations).toEqual(["register", "unregister"]);
    const [register, unregister] = server.calls;
    expect(unregister?.body).toEqual({ user: register?.body["user"] ?? "", product: "CAD" });
  });

  test("with 128 and the number of the signal that ended the command", async () => {
    const server = scriptedServer(() => granted());
    const { code } = await runWrapped(server, [], ["sh", "-c", "kill -9 $$"]);
    expect(code).toBe(137);
    expect(server.operations).toEqual(["register", "unregister"]);
  });

  test("with 64 after a misuse, and prints nothing on standard output", async () => {
    const misuses: readonly (readonly [string, string[]])[] = [
      ["--product is required", ["--", "true"]],
      ["a command is required", ["--product", "CAD"]],
      ["a command is required", ["--product", "CAD", "--"]],
      ["unexpected argument: true", ["--product", "CAD", "true"]],
      ["write -- before the command", ["--product", "CAD", "sh", "-c", "true"]],
      ["berth run has no flag --produkt", ["--produkt", "CAD", "--", "true"]],
      ["--wait must be a number with s, m, h or d", ["--product", "CAD", "--wait", "2"]],
      ["--server must be a URL", ["--product", "CAD", "--server", "berth", "--", "true"]],
      ["must not contain a user name", ["--product", "CAD", "--server", "http://a:b@c", "--", "t"]],
      ["must not contain a query", ["--product", "CAD", "--server", "http://c?a=b", "--", "t"]],
      ["must not contain /api/v4", ["--product", "CAD", "--server", "http://c/api/v4", "--", "t"]],
      ["--on-loss must be one of warn, stop, kill", ["--product", "CAD", "--on-loss", "x"]],
      ["--exact-user requires --user", ["--product", "CAD", "--exact-user", "--", "true"]],
      ["--user must not contain #", ["--product", "CAD", "--user", "a#b", "--", "true"]],
      ["require each other", ["--product", "CAD", "--login", "ada", "--", "true"]],
      ["be sent without encryption to http://berth.example:8080", [...LOGIN, "--", "true"]],
      ["berth run has no flag --json", ["--product", "CAD", "--json", "--", "true"]],
    ];
    for (const [message, args] of misuses) {
      const { code, stdout, stderr } = await runBerth(["run", ...args]);
      expect([code, stdout, stderr]).toEqual([64, "", expect.stringContaining(message)]);
    }
  });

  test("with 69 if no server answers, and names each address and the reason", async () => {
    const servers = `${CLOSED_PORT},http://127.0.0.1:2`;
    const wrapper = new Wrapper(["--product", "CAD", "--server", servers, "--", "true"]);
    expect(await wrapper.end()).toBe(69);
    expect(wrapper.stderr).toContain(`${CLOSED_PORT} does not answer: connection refused`);
    expect(wrapper.stderr).toContain("http://127.0.0.1:2 does not answer");
    expect(wrapper.stderr).toContain("hint: name the server's address with --server");
  });

  test("with 69 if what answers is not a Berth server", async () => {
    const server = scriptedServer(() => new Response("<html>", { status: 404 }));
    const { code, stderr } = await runWrapped(server, [], ["true"]);
    expect([code, stderr]).toEqual([69, expect.stringContaining("is not a Berth server")]);
  });

  test("with 75 if no slot is free and it shall not wait", async () => {
    const server = scriptedServer(() => refused());
    const { code, stderr } = await runWrapped(server, [], ["true"]);
    expect(code).toBe(75);
    expect(stderr).toContain(
      "no slot of CAD is free: all 5 slots are in use (floating_not_available)",
    );
    expect(stderr).toContain("hint: wait for a slot with --wait");
    expect(server.calls[0]?.headers.get("prefer")).toBeNull();
  });

  test("with 77, the message and the hint of a refusal that waiting does not end", async () => {
    const reply = { code: "not_allowed_by_rules", message: "denied on line 4", hint: "ask Ada" };
    const server = scriptedServer(() => refused(reply));
    const { code, stderr } = await runWrapped(server, ["--wait", "1h"], ["true"]);
    expect(code).toBe(77);
    expect(stderr).toContain("refused: denied on line 4 (not_allowed_by_rules)\n");
    expect(stderr).toContain("hint: ask Ada\n");
  });

  test("with 77 and the flags that help if the server wants a login", async () => {
    const reply = { status: 401, code: "unauthorized", message: "log in at /auth" };
    const { code, stderr } = await runWrapped(
      scriptedServer(() => refused(reply)),
      [],
      ["true"],
    );
    expect(code).toBe(77);
    expect(stderr).toContain("hint: log in with --login NAME and --password-file FILE\n");
  });

  test("with 127 if the command does not exist, before a slot is taken", async () => {
    const server = scriptedServer(() => granted());
    const { code, stderr } = await runWrapped(server, [], ["no-such-command"]);
    expect([code, stderr]).toEqual([127, expect.stringContaining("not found: no-such-command")]);
    expect(server.calls).toEqual([]);
  });

  test("with 126 if the command is not executable, before a slot is taken", async () => {
    const path = join(tempFolder(), "data.txt");
    writeFileSync(path, "no program");
    const server = scriptedServer(() => granted());
    const { code, stderr } = await runWrapped(server, [], [path]);
    expect([code, stderr]).toEqual([126, expect.stringContaining("cannot be started")]);
    expect(server.calls).toEqual([]);
  });

  test("with 126 if the command cannot be started, and releases the slot", async () => {
    const path = join(tempFolder(), "broken");
    writeFileSync(path, "#!/no/such/interpreter\n");
    chmodSync(path, 0o755);
    const server = scriptedServer(() => granted());
    const { code, stderr } = await runWrapped(server, [], [path]);
    expect([code, stderr]).toEqual([126, expect.stringContaining("cannot be started")]);
    expect(server.operations).toEqual(["register", "unregister"]);
  });
});

test("berth run accepts a login without TLS with --allow-plain-password", async () => {
  const { stderr } = await runBerth(["run", ...LOGIN, "--allow-plain-password", "--", "true"]);
  expect(stderr).toContain("no-such-file does not exist");
});
