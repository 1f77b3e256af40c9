import { describe, expect, test } from "bun:test";
import { describeCommandLine } from "../../../src/cli/serve/command-line.ts";

const machine = {
  userId: 1_000,
  hasSudo: true,
  program: ["/usr/local/bin/berth"],
  defaultFolder: "/var/lib/berth",
};

describe("describeCommandLine", () => {
  test("names only the program if it is in a common folder and the data folder is the default", () => {
    expect(describeCommandLine("/var/lib/berth", machine)).toEqual({
      executable: "berth",
      needsSudo: false,
      dataFolder: "",
    });
  });

  test("names the path of a program in another folder, quoted for a shell", () => {
    const program = ["/opt/my tools/berth"];
    const { executable } = describeCommandLine("/srv", { ...machine, program });
    expect(executable).toBe("'/opt/my tools/berth'");
  });

  test("names the runtime too if berth runs from its sources", () => {
    const program = ["/bin/bun", "/src/main.ts"];
    const { executable } = describeCommandLine("/srv", { ...machine, program });
    expect(executable).toBe("/bin/bun /src/main.ts");
  });

  test("names a data folder that commands do not find themselves", () => {
    expect(describeCommandLine("/srv/berth", machine).dataFolder).toBe("/srv/berth");
  });

  test.each([
    [0, true],
    [999, true],
    [1_000, false],
    [61_183, false],
    [61_184, true],
    [65_519, true],
    [65_520, false],
    [null, false],
  ])("for the server's user %p, sudo is needed: %p", (userId, isNeeded) => {
    expect(describeCommandLine("/srv", { ...machine, userId }).needsSudo).toBe(isNeeded);
  });

  test("does not use sudo on a machine without it, such as a container", () => {
    expect(describeCommandLine("/srv", { ...machine, userId: 0, hasSudo: false }).needsSudo).toBe(
      false,
    );
  });
});
