import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkInstallPath } from "../../src/cli/service/installation.ts";
import {
  binaryStep,
  fileStep,
  runSteps,
  isSameFile,
  writeFileAtomically,
} from "../../src/cli/service/steps.ts";
import { parseBinaryPath, unitText } from "../../src/cli/service/unit.ts";
import { runBerth, runOrThrow } from "../support/run-berth.ts";
import { runBinary, buildBinary } from "../support/binary.ts";
import { canMount, makeInstalledMachine } from "../support/installed-machine.ts";
import { AS_NOBODY, canRunAsNobody, copyForEveryUser, isRoot } from "../support/other-user.ts";
import { modeOf, tempFolder } from "../support/temp-folder.ts";

const BINARY = "/usr/local/bin/berth";
const NONE = (): boolean => false;

describe("the unit", () => {
  test("is what service print prints, with the sealing key that an installation makes", async () => {
    const printed = await runOrThrow(["service", "print"]);
    expect(printed).toContain(`\nExecStart=${BINARY} serve --config /etc/berth/berth.toml\n`);
    expect(printed).toContain("\nLoadCredential=berth-sealing-key:/etc/berth/sealing-key\n");
    const without = (text: string) => text.replaceAll(/^LoadCredential=.*\n/gm, "");
    expect(without(printed)).toBe(without(unitText(BINARY, NONE)));
    const elsewhere = await runOrThrow(["service", "print", "--install-path", "/opt/berth"]);
    expect(elsewhere).toContain("\nExecStart=/opt/berth serve ");
    expect(parseBinaryPath(elsewhere)).toBe("/opt/berth");
  });

  test("names only what is there to be handed over: anything else would keep it from starting", () => {
    expect(unitText(BINARY, NONE)).not.toContain("LoadCredential");
    const isThere = (path: string): boolean => path === "/etc/berth/api-key";
    expect([...unitText(BINARY, isThere).matchAll(/^LoadCredential=.*$/gm)].flat()).toEqual([
      "LoadCredential=berth-api-key:/etc/berth/api-key",
    ]);
  });

  test("forgets every variable that would turn the executable into something else", () => {
    const unset = [...unitText(BINARY, NONE).matchAll(/^UnsetEnvironment=(.*)$/gm)]
      .map(([, names = ""]) => names)
      .join(" ");
    const names = ["BUN_BE_BUN", "BUN_OPTIONS", "NODE_OPTIONS", "LD_PRELOAD", "BUN_INSPECT"];
    for (const name of names) expect(unset).toContain(name);
  });

  describe.skipIf(Bun.which("systemd-analyze") === null)("by systemd's own judgement", () => {
    const analyze = (...words: string[]) => {
      const folder = tempFolder();
      // Only a program that is there can be judged.
      writeFileSync(join(folder, "berth.service"), unitText("/bin/true", NONE));
      const path = join(folder, "berth.service");
      const { exitCode, stdout, stderr } = Bun.spawnSync(["systemd-analyze", ...words, path]);
      return { code: exitCode, text: stdout.toString(), complaint: stderr.toString() };
    };

    test("it is without a fault", () => {
      const { code, complaint } = analyze("verify", "--man=no");
      expect([code, complaint]).toEqual([0, ""]);
    });

    test("its exposure is at most 1.5, and every point that is left is explained in it", () => {
      const { text } = analyze("security", "--offline=true", "--no-pager");
      const exposure = /exposure level for berth\.service: ([\d.]+)/.exec(text)?.[1];
      expect(Number(exposure)).toBeLessThanOrEqual(1.5);
      const open = [...text.matchAll(/^✗ (\S+)/gmu)].map(([, name = ""]) => name);
      expect(open.length).toBeGreaterThan(5);
      const [, why = ""] = unitText("/bin/true", NONE).split("and why:");
      const wordsOf = (name: string): readonly string[] =>
        name.replace(/^\w+=~/, "").match(/@?[A-Za-z]{4,}/g) ?? [];
      const unexplained = open.filter((name) => !wordsOf(name).some((word) => why.includes(word)));
      expect(unexplained).toEqual([]);
    });
  });
});

describe("an installation is refused", () => {
  test("from the sources: there is nothing to copy", async () => {
    for (const words of [["install"], ["install", "--dry-run"], ["uninstall"]]) {
      const { code, stdout, stderr } = await runBerth(["service", ...words], {
        fromSources: true,
      });
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toContain(`only the compiled executable can ${words[0]} itself`);
      expect(stderr).toContain("berth: hint: build it with bun run build");
    }
  });

  test.skipIf(isRoot && !canRunAsNobody)("to whoever is not root", async () => {
    const drop = isRoot ? AS_NOBODY : [];
    const binary = copyForEveryUser(buildBinary());
    const refusals = [
      [["install"], "install", "sudo berth service install"],
      [["install", "--dry-run"], "install", "sudo berth service install --dry-run"],
      [["uninstall"], "uninstall", "sudo berth service uninstall"],
      [["uninstall", "--dry-run"], "uninstall", "sudo berth service uninstall --dry-run"],
    ] as const;
    for (const [words, verb, hint] of refusals) {
      const { exitCode, stderr } = Bun.spawnSync([...drop, binary, "service", ...words]);
      expect([exitCode, stderr.toString()]).toEqual([
        1,
        `berth: error: root privileges are required to ${verb} the service\nberth: hint: ${hint}\n`,
      ]);
    }
  });

  const hasSystemd = statSync("/run/systemd/system", { throwIfNoEntry: false }) !== undefined;

  test.skipIf(!isRoot || hasSystemd)("where no systemd runs, with what to do instead", async () => {
    const { code, stderr } = await runBinary(["service", "install"]);
    expect(code).toBe(1);
    expect(stderr).toContain("this machine does not run systemd");
    expect(stderr).toContain("berth service print shows the systemd unit");
  });

  test.each(["/home/x/berth", "/tmp/berth", "/root/berth", "/opt/a b", "/opt/$x", "/opt/%n", "/"])(
    "to a place the unit cannot start from: %s",
    (path) => {
      expect(() => checkInstallPath(path)).toThrow();
      expect(() => checkInstallPath("/opt/berth-1.2/bin/berth")).not.toThrow();
    },
  );
});

describe.skipIf(!canMount)("on a machine without systemd", () => {
  test("service install is refused with what to do instead, and does nothing", async () => {
    const { run, etc, data } = makeInstalledMachine(null);
    const { code, stdout, stderr } = await run("service", "install");
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("berth: error: this machine does not run systemd");
    expect(stderr).toContain("berth service print shows the systemd unit");
    expect([readdirSync(etc), readdirSync(data)]).toEqual([[], []]);
  });

  test("service install --dry-run says what it would do, and that it is refused here", async () => {
    const { run, etc, data } = makeInstalledMachine(null);
    const { code, stdout, stderr } = await run("service", "install", "--dry-run");
    expect(code).toBe(0);
    for (const what of [
      "the executable: /usr/local/bin/berth",
      "the settings: /etc/berth/berth.toml",
      "the unit: /etc/systemd/system/berth.service",
      "an admin token, valid for one year: /etc/berth/admin-token",
      "start berth.service and wait until it is ready",
    ]) {
      expect(stdout).toContain(`  would  ${what}\n`);
    }
    expect(stderr).toBe(
      "berth: warning: this machine does not run systemd: without --dry-run this command fails here\n",
    );
    expect([readdirSync(etc), readdirSync(data)]).toEqual([[], []]);
  });

  test("service uninstall --dry-run lists only what is there", async () => {
    const { run } = makeInstalledMachine('listen = "127.0.0.1:0"\n');
    const binary = join(tempFolder(), "berth");
    writeFileSync(binary, "");
    const { code, stdout } = await run(
      "service",
      "uninstall",
      "--dry-run",
      "--install-path",
      binary,
    );
    expect(code).toBe(0);
    expect(stdout).toContain(`  would  remove ${binary}\n`);
    expect(stdout).not.toContain(".previous");
    expect(stdout).not.toContain("berth.service");
    expect(stdout).toContain("kept: /var/lib/berth, /etc/berth; delete them yourself");
    expect(stdout).not.toContain("/var/backups/berth");
  });
});

describe("the steps of an installation", () => {
  test("are done once, said in a rehearsal, and done again only where something changed", async () => {
    const path = join(tempFolder(), "below", "file");
    const said: string[] = [];
    const steps = [fileStep("a file", path, () => "text", { mode: 0o640 })];
    await runSteps(steps, true, (text) => said.push(text));
    expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
    await runSteps(steps, false, (text) => said.push(text));
    await runSteps(steps, false, (text) => said.push(text));
    expect(said.map((text) => text.trim().split(" ")[0] ?? "")).toEqual(["would", "done", "kept"]);
    expect([readFileSync(path, "utf8"), modeOf(path)]).toEqual(["text", "640"]);
    writeFileSync(path, "edited");
    await runSteps(steps, false, () => {});
    expect(readFileSync(path, "utf8")).toBe("text");
  });

  test("leave alone what is the operator's once it is there", async () => {
    const path = join(tempFolder(), "berth.toml");
    writeFileSync(path, "mine");
    const once = { mode: 0o644, once: true };
    await runSteps([fileStep("the settings", path, () => "new", once)], false, () => {});
    expect(readFileSync(path, "utf8")).toBe("mine");
  });

  test("take no room when they fail: what was there stays, and nothing is beside it", () => {
    const folder = tempFolder();
    const path = join(folder, "berth");
    writeFileSync(path, "old");
    const full = (fresh: string): void => {
      writeFileSync(fresh, "half of the n");
      throw new Error("ENOSPC: no space left on device");
    };
    expect(() => writeFileAtomically(path, 0o755, full)).toThrow("ENOSPC");
    expect(readFileSync(path, "utf8")).toBe("old");
    expect(Bun.spawnSync(["ls", folder]).stdout.toString()).toBe("berth\n");
  });

  test("an executable is installed over one that runs", async () => {
    const folder = tempFolder();
    mkdirSync(join(folder, "bin"));
    const [from, to] = [join(folder, "new"), join(folder, "bin", "sleep")];
    writeFileSync(from, readFileSync(Bun.which("true") ?? ""));
    writeFileSync(to, readFileSync(Bun.which("sleep") ?? ""), { mode: 0o755 });
    const running = Bun.spawn([to, "30"]);
    const step = binaryStep(from, to);
    expect(step.isDone()).toBe(false);
    await step.apply();
    expect([step.isDone(), isSameFile(from, to), modeOf(to)]).toEqual([true, true, "755"]);
    expect(running.exitCode).toBeNull();
    running.kill();
    await running.exited;
  });
});
