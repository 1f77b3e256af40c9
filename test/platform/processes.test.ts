import { expect, test } from "bun:test";
import { nameOfProcess } from "../../src/platform/processes.ts";

test.skipIf(process.platform !== "linux")(
  "a process is named on one line of bounded length, whatever its arguments are",
  async () => {
    const hostile = `berth: hint: run this\n\u001b[2J${"x".repeat(5_000)}`;
    const child = Bun.spawn([process.execPath, "-e", "await Bun.sleep(60_000)", hostile], {
      stdout: "ignore",
    });
    try {
      const name = nameOfProcess(child.pid);
      expect(name).toStartWith(`process ${child.pid} (`);
      expect(name).not.toMatch(/\p{Cc}/u);
      expect(name.length).toBeLessThan(300);
    } finally {
      child.kill("SIGKILL");
      await child.exited;
    }
  },
);
