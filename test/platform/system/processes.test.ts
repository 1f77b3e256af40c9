import { expect, test } from "bun:test";
import { describeProcess } from "../../../src/platform/system/processes.ts";

test.skipIf(process.platform !== "linux")(
  "describeProcess returns one line of bounded length for any arguments",
  async () => {
    const hostile = `berth: hint: run this\n\u001b[2J${"x".repeat(5_000)}`;
    const script = 'console.log("ready"); await Bun.stdin.text()';
    const child = Bun.spawn([process.execPath, "-e", script, hostile], {
      stdin: "pipe",
      stdout: "pipe",
    });
    try {
      // The kernel shows no arguments until the child runs its program.
      await child.stdout.getReader().read();
      const name = describeProcess(child.pid);
      expect(name).toStartWith(`process ${child.pid} (`);
      expect(name).not.toMatch(/\p{Cc}/u);
      expect(name.length).toBeLessThan(300);
    } finally {
      child.kill("SIGKILL");
      await child.exited;
    }
  },
);
