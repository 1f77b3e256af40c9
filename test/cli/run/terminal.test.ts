import { describe, expect, test } from "bun:test";
import { buildBinary } from "../../support/binary.ts";
import { scriptedServer } from "../../support/run-wrapper.ts";
import { granted } from "../../support/scripted-server.ts";

const CTRL_C = "\u0003";

/** Runs a program on a new terminal, and presses Ctrl-C when it has printed `started`. */
async function interrupt(command: readonly string[]): Promise<{ code: number; text: string }> {
  let text = "";
  let hasPressed = false;
  const closed = Promise.withResolvers<void>();
  const child = Bun.spawn([...command], {
    env: { PATH: process.env["PATH"] ?? "" },
    terminal: {
      data(terminal, part) {
        text += new TextDecoder().decode(part);
        if (hasPressed || !text.includes("started")) return;
        hasPressed = true;
        terminal.write(CTRL_C);
      },
      exit: () => closed.resolve(),
    },
  });
  const code = await child.exited;
  await closed.promise;
  return { code, text };
}

describe("Ctrl-C on the terminal of berth run", () => {
  test("reaches the command once", async () => {
    const server = scriptedServer(() => granted());
    const script = "trap 'n=$((n+1))' INT; echo started; sleep 1; sleep 1; echo got $n; exit 3";
    const flags = ["run", "--product", "CAD", "--server", server.url];
    const { code, text } = await interrupt([buildBinary(), ...flags, "--", "sh", "-c", script]);
    expect(text).toContain("got 1\r\n");
    expect(code).toBe(3);
    expect(server.operations).toEqual(["register", "unregister"]);
  });

  test("ends a loop of a shell, and not only the command", async () => {
    const server = scriptedServer(() => granted());
    const run = `${buildBinary()} run --product CAD --server ${server.url}`;
    const loop = `for i in 1 2 3; do ${run} -- sh -c 'echo started; exec sleep 1000'; done; echo after`;
    const { text } = await interrupt(["bash", "-c", loop]);
    expect(text.match(/started/g)).toHaveLength(1);
    expect(text).not.toContain("after");
    expect(server.operations).toEqual(["register", "unregister"]);
  });
});
