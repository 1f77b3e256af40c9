import { describe, expect, test } from "bun:test";
import { chmodSync, chownSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeUnexpected } from "../../../src/cli/frame/system-errors.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { runBinary, buildBinary } from "../../support/binary.ts";
import { AS_NOBODY, canRunAsNobody, copyForEveryUser, isRoot } from "../../support/other-user.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { tempFolder } from "../../support/temp-folder.ts";

function runAsPlainUser(...words: string[]) {
  const binary = copyForEveryUser(buildBinary());
  const { exitCode, stdout, stderr } = Bun.spawnSync([...AS_NOBODY, binary, ...words], {
    cwd: "/",
    env: {},
  });
  return { code: exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
}

describe("system errors", () => {
  test.skipIf(!canRunAsNobody)(
    "report a folder of another user as permission denied, with a hint about sudo",
    async () => {
      const data = join(tempFolder(), "data");
      await makeLicensedSite(data, { product: "cad" });
      chmodSync(join(data, ".."), 0o755);
      for (const name of ["status", "verify", "doctor"]) {
        const { code, stderr } = runAsPlainUser(name, "--data", data);
        expect(code).toBe(1);
        const [error, hint] = stderr.split("\n");
        expect(error).toStartWith(`berth: error: permission denied: ${data}`);
        expect(hint).toBe("berth: hint: run the command with sudo");
      }
    },
  );

  test.skipIf(!canRunAsNobody)(
    "report a data folder that a plain user cannot create, with another folder as the hint",
    () => {
      const folder = tempFolder();
      chmodSync(folder, 0o755);
      const data = join(folder, "data");
      for (const name of ["serve", "demo"]) {
        const words = [name, "--data", data, "--listen", "127.0.0.1:0"];
        const { code, stderr } = runAsPlainUser(...words);
        expect(code).toBe(1);
        expect(stderr).toContain(`permission denied: ${data}`);
        expect(stderr).toContain("choose a folder where you may write with --data DIR");
      }
    },
  );

  const MIN_PORT = "/proc/sys/net/ipv4/ip_unprivileged_port_start";

  test.skipIf(!canRunAsNobody)(
    "report a port below 1024 for a plain user, with another port as the hint",
    async () => {
      const data = join(tempFolder(), "data");
      mkdirSync(data, { mode: 0o777 });
      const limit = Number(await Bun.file(MIN_PORT).text());
      // Where plain users may use every port, nothing is refused.
      if (limit <= 80) return expect(limit).toBeLessThanOrEqual(80);
      const { code, stderr } = runAsPlainUser("serve", "--data", data, "--listen", "127.0.0.1:80");
      expect(code).toBe(1);
      const [error, hint] = stderr.split("\n");
      expect(error).toBe("berth: error: ports below 1024 require root: 127.0.0.1:80");
      expect(hint).toContain("choose another port, for example --listen 127.0.0.1:8080");
      expect(hint).toContain("sysctl net.ipv4.ip_unprivileged_port_start=80");
    },
  );

  test("report an address that this machine does not have, with a hint how to list its own", async () => {
    const data = join(tempFolder(), "data");
    const { code, stderr } = await runBinary(["serve", "--data", data, "--listen", "192.0.2.7:0"]);
    expect(code).toBe(1);
    expect(stderr).toContain("192.0.2.7 is not an address of this machine (EADDRNOTAVAIL)");
    expect(stderr).toContain(
      "berth: hint: the command ip address lists the addresses; 0.0.0.0 listens on all of them",
    );
  });

  test.each([
    ["EIO", "the disk or the medium failed", "check the disk"],
    ["EROFS", "is on a read-only file system", "choose another path"],
    ["ENOSPC", "not enough disk space", "free space on its disk"],
    ["EDQUOT", "quota", "free disk space"],
    ["EMFILE", "too many open files", "ulimit -n"],
    ["ENAMETOOLONG", "too long", "shorter"],
    ["EBUSY", "in use", "try again"],
  ])("describe %s with its own message and hint", (code, problem, remedy) => {
    const error = Object.assign(new Error(`${code}: x, open '/srv/x'`), { code, path: "/srv/x" });
    const { message, hint } = describeUnexpected(error);
    expect(message).toContain(problem);
    expect(message).toEndWith(`(${code})`);
    expect(hint).toContain(remedy);
    expect(hint).not.toContain("the system returned");
  });

  const refuse = (code: string, path: string) =>
    describeUnexpected(Object.assign(new Error(code), { code, path }));

  test("report a link to a folder that does not exist, with its target", async () => {
    const folder = tempFolder();
    const link = join(folder, "data");
    symlinkSync(join(folder, "gone"), link);
    const { code, stderr } = await runBinary(["serve", "--data", link, "--listen", "127.0.0.1:0"]);
    expect([code, stderr]).toEqual([
      1,
      `berth: error: ${link} is a link to ${join(folder, "gone")}, which does not exist (EEXIST)\n` +
        "berth: hint: create that folder, or remove the link\n",
    ]);
  });

  test.skipIf(!isRoot)("name chown for a file of another user than its folder's", () => {
    const folder = tempFolder();
    const path = join(folder, "state.json");
    writeFileSync(path, "");
    expect(refuse("EACCES", path).hint).toBe(`check the permissions: ls -ld ${folder}`);
    chownSync(folder, 65534, 65534);
    const { message, hint } = refuse("EACCES", path);
    expect(message).toBe(`permission denied: ${path} (EACCES)`);
    expect(hint).toEndWith(`: chown --reference='${folder}' '${path}'`);
  });

  test.skipIf(!existsSync("/dev/full"))("report a full disk with the path of the file", () => {
    const file = realDisk.open("/dev/full");
    try {
      file.write(new Uint8Array(1));
      throw new Error("it was written");
    } catch (error) {
      const { message } = describeUnexpected(error);
      expect(message).toBe("not enough disk space for /dev/full (ENOSPC)");
    } finally {
      file.close();
    }
  });

  test("keep the system's message for an unknown code, and name the code in the hint", () => {
    const error = Object.assign(new Error("EXDEV: cross-device link"), { code: "EXDEV" });
    expect(describeUnexpected(error)).toEqual({
      message: "EXDEV: cross-device link",
      statement: "EXDEV: cross-device link",
      hint: "the system returned EXDEV; check the folder and its disk with berth doctor",
    });
  });
});

describe("unexpected errors", () => {
  test.each([
    [
      "an error of the runtime",
      Object.assign(new Error("The operation was aborted"), { code: "ABORT_ERR" }),
    ],
    ["a type error", new TypeError("x is not a function")],
    [
      "an error with a code of the runtime",
      Object.assign(new Error("bad"), { code: "ERR_INVALID_ARG_TYPE" }),
    ],
  ])("are internal errors, with a hint how to report them: %s", (_what, error) => {
    const { message, hint } = describeUnexpected(error);
    expect(message).toStartWith("internal error: ");
    expect(message).toContain(error.message);
    expect(hint).toBe(
      "this is a bug in berth: report it with the file that berth support-bundle FILE writes",
    );
  });

  test("are internal errors even when the thrown value is not an error", () => {
    expect(describeUnexpected("nonsense").message).toBe("internal error: nonsense");
  });
});
