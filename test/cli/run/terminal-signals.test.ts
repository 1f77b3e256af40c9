import { describe, expect, test } from "bun:test";
import { buildBinary } from "../../support/binary.ts";
import { scriptedServer } from "../../support/run-wrapper.ts";
import { granted } from "../../support/scripted-server.ts";

const CTRL_C = "\u0003";

/** Runs a program on a new terminal, and calls `interrupt` when it has printed `started`. */
async function interruptOnTerminal(
  command: readonly string[],
  interrupt: (terminal: Bun.Terminal, pid: number) => void,
): Promise<{ code: number; text: string }> {
  let text = "";
  let isInterrupted = false;
  const closed = Promise.withResolvers<void>();
  const child = Bun.spawn([...command], {
    env: { PATH: process.env["PATH"] ?? "" },
    terminal: {
      data(terminal, part) {
        text += new TextDecoder().decode(part);
        if (isInterrupted || !text.includes("started")) return;
        isInterrupted = true;
        interrupt(terminal, child.pid);
      },
      exit: () => closed.resolve(),
    },
  });
  const code = await child.exited;
  await closed.promise;
  return { code, text };
}

const pressCtrlC = (terminal: Bun.Terminal): void => {
  terminal.write(CTRL_C);
};

describe("Ctrl-C on the terminal of berth run", () => {
  test("reaches the command once", async () => {
    const server = scriptedServer(() => granted());
    const script = "trap 'n=$((n+1))' INT; echo started; sleep 1; sleep 1; echo got $n; exit 3";
    const flags = ["run", "--product", "CAD", "--server", server.url];
    const { code, text } = await interruptOnTerminal(
      [buildBinary(), ...flags, "--", "sh", "-c", script],
      pressCtrlC,
    );
    expect(text).toContain("got 1\r\n");
    expect(code).toBe(3);
    expect(server.operations).toEqual(["register", "unregister"]);
  });

  test("is not sent to the command a second time by berth run", async () => {
    const server = scriptedServer(() => granted());
    const traps = "trap 'echo interrupted' INT; trap 'echo done; exit 4' USR1";
    const script = `${traps}; echo started; while :; do sleep 0.02; done`;
    const flags = ["run", "--product", "CAD", "--server", server.url];
    const { code, text } = await interruptOnTerminal(
      [buildBinary(), ...flags, "--", "sh", "-c", script],
      (_terminal, pid) => {
        process.kill(pid, "SIGINT");
        // Passed on after SIGINT, so SIGINT was handled when this ends the command.
        process.kill(pid, "SIGUSR1");
      },
    );
    expect([code, text]).toEqual([4, "started\r\ndone\r\n"]);
  });

  test("ends a loop of a shell, and not only the command", async () => {
    const server = scriptedServer(() => granted());
    const run = `${buildBinary()} run --product CAD --server ${server.url}`;
    const loop = `for i in 1 2 3; do ${run} -- sh -c 'echo started; exec sleep 1000'; done; echo after`;
    const { text } = await interruptOnTerminal(["bash", "-c", loop], pressCtrlC);
    expect(text.match(/started/g)).toHaveLength(1);
    expect(text).not.toContain("after");
    expect(server.operations).toEqual(["register", "unregister"]);
  });
});
