import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkInstallPath } from "../../../src/cli/service/installation.ts";
import {
  binaryStep,
  fileStep,
  runSteps,
  isSameFile,
  writeFileAtomically,
} from "../../../src/cli/service/steps.ts";
import { parseBinaryPath, unitText } from "../../../src/cli/service/unit.ts";
import { runBerth, runOrThrow } from "../../support/run-berth.ts";
import { runBinary, buildBinary } from "../../support/binary.ts";
import { canMount, makeInstalledMachine } from "../../support/installed-machine.ts";
import { AS_NOBODY, canRunAsNobody, copyForEveryUser, isRoot } from "../../support/other-user.ts";
import { modeOf, tempFolder } from "../../support/temp-folder.ts";

const BINARY = "/usr/local/bin/berth";
const NONE = (): boolean => false;

describe("the systemd unit", () => {
  test("is printed by service print, with the sealing key that an installation creates", async () => {
    const printed = await runOrThrow(["service", "print"]);
    expect(printed).toContain(`\nExecStart=${BINARY} serve --config /etc/berth/berth.toml\n`);
    expect(printed).toContain("\nLoadCredential=berth-sealing-key:/etc/berth/sealing-key\n");
    const without = (text: string) => text.replaceAll(/^LoadCredential=.*\n/gm, "");
    expect(without(printed)).toBe(without(unitText(BINARY, NONE)));
    const elsewhere = await runOrThrow(["service", "print", "--install-path", "/opt/berth"]);
    expect(elsewhere).toContain("\nExecStart=/opt/berth serve ");
    expect(parseBinaryPath(elsewhere)).toBe("/opt/berth");
  });

  test("loads only credentials that exist, because systemd does not start it otherwise", () => {
    expect(unitText(BINARY, NONE)).not.toContain("LoadCredential");
    const exists = (path: string): boolean => path === "/etc/berth/api-key";
    expect([...unitText(BINARY, exists).matchAll(/^LoadCredential=.*$/gm)].flat()).toEqual([
      "LoadCredential=berth-api-key:/etc/berth/api-key",
    ]);
  });

  test("unsets every variable that changes what the executable runs", () => {
    const unset = [...unitText(BINARY, NONE).matchAll(/^UnsetEnvironment=(.*)$/gm)]
      .map(([, names = ""]) => names)
      .join(" ");
    const names = ["BUN_BE_BUN", "BUN_OPTIONS", "NODE_OPTIONS", "LD_PRELOAD", "BUN_INSPECT"];
    for (const name of names) expect(unset).toContain(name);
  });

  describe.skipIf(Bun.which("systemd-analyze") === null)("according to systemd-analyze", () => {
    const analyze = (...words: string[]) => {
      const folder = tempFolder();
      // systemd-analyze accepts only a program that exists.
      writeFileSync(join(folder, "berth.service"), unitText("/bin/true", NONE));
      const path = join(folder, "berth.service");
      const { exitCode, stdout, stderr } = Bun.spawnSync(["systemd-analyze", ...words, path]);
      return { code: exitCode, text: stdout.toString(), errors: stderr.toString() };
    };

    test("has no fault", () => {
      const { code, errors } = analyze("verify", "--man=no");
      expect([code, errors]).toEqual([0, ""]);
    });

    test("has an exposure of at most 1.5, and explains every remaining point", () => {
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

describe("berth service install is refused", () => {
  test("when berth runs from source, and so is uninstall", async () => {
    for (const words of [["install"], ["install", "--dry-run"], ["uninstall"]]) {
      const { code, stdout, stderr } = await runBerth(["service", ...words]);
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toContain(`only the compiled executable can ${words[0]} itself`);
      expect(stderr).toContain("berth: hint: build it with bun run build");
    }
  });

  test.skipIf(isRoot && !canRunAsNobody)(
    "without root privileges, and so is uninstall",
    async () => {
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
    },
  );

  const hasSystemd = statSync("/run/systemd/system", { throwIfNoEntry: false }) !== undefined;

  test.skipIf(!isRoot || hasSystemd)(
    "on a machine without systemd, with a hint about service print",
    async () => {
      const { code, stderr } = await runBinary(["service", "install"]);
      expect(code).toBe(1);
      expect(stderr).toContain("this machine does not run systemd");
      expect(stderr).toContain("berth service print shows the systemd unit");
    },
  );

  test.each(["/home/x/berth", "/tmp/berth", "/root/berth", "/opt/a b", "/opt/$x", "/opt/%n", "/"])(
    "for an install path that the unit cannot start: %s",
    (path) => {
      expect(() => checkInstallPath(path)).toThrow();
      expect(() => checkInstallPath("/opt/berth-1.2/bin/berth")).not.toThrow();
    },
  );
});

describe.skipIf(!canMount)("on a machine without systemd", () => {
  test("service install fails with a hint and changes nothing", async () => {
    const { run, etc, data } = makeInstalledMachine(null);
    const { code, stdout, stderr } = await run("service", "install");
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("berth: error: this machine does not run systemd");
    expect(stderr).toContain("berth service print shows the systemd unit");
    expect([readdirSync(etc), readdirSync(data)]).toEqual([[], []]);
  });

  test("service install --dry-run lists its steps and warns that the command fails here", async () => {
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
      expect(stdout).toContain(`  to do  ${what}\n`);
    }
    expect(stderr).toBe(
      "berth: warning: this machine does not run systemd: without --dry-run this command fails here\n",
    );
    expect([readdirSync(etc), readdirSync(data)]).toEqual([[], []]);
  });

  test("service uninstall --dry-run lists only files that exist", async () => {
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
    expect(stdout).toContain(`  to do  remove ${binary}\n`);
    expect(stdout).not.toContain(".previous");
    expect(stdout).not.toContain("berth.service");
    expect(stdout).toContain("kept: /var/lib/berth, /etc/berth; delete them yourself");
    expect(stdout).not.toContain("/var/backups/berth");
  });
});

describe("installation steps", () => {
  test("are listed by a dry run, done once, and done again only after a change", async () => {
    const path = join(tempFolder(), "below", "file");
    const lines: string[] = [];
    const steps = [fileStep("a file", path, () => "text", { mode: 0o640 })];
    await runSteps(steps, true, (text) => lines.push(text));
    expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
    await runSteps(steps, false, (text) => lines.push(text));
    await runSteps(steps, false, (text) => lines.push(text));
    expect(lines.map((text) => text.trim().split("  ")[0] ?? "")).toEqual([
      "to do",
      "done",
      "kept",
    ]);
    expect([readFileSync(path, "utf8"), modeOf(path)]).toEqual(["text", "640"]);
    writeFileSync(path, "edited");
    await runSteps(steps, false, () => {});
    expect(readFileSync(path, "utf8")).toBe("text");
  });

  test("keep a settings file that already exists", async () => {
    const path = join(tempFolder(), "berth.toml");
    writeFileSync(path, "edited by the operator");
    const options = { mode: 0o644, keepExisting: true };
    await runSteps([fileStep("the settings", path, () => "new", options)], false, () => {});
    expect(readFileSync(path, "utf8")).toBe("edited by the operator");
  });

  test("leave the old file and no partial file when writing fails", () => {
    const folder = tempFolder();
    const path = join(folder, "berth");
    writeFileSync(path, "old");
    const failToWrite = (path: string): void => {
      writeFileSync(path, "half of the n");
      throw new Error("ENOSPC: no space left on device");
    };
    expect(() => writeFileAtomically(path, 0o755, failToWrite)).toThrow("ENOSPC");
    expect(readFileSync(path, "utf8")).toBe("old");
    expect(Bun.spawnSync(["ls", folder]).stdout.toString()).toBe("berth\n");
  });

  test("replace an executable while it runs", async () => {
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
