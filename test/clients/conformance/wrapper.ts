// Scenarios of `berth run`, which is a client too: it holds a slot while a command runs.
import { expect } from "bun:test";
import { tmpdir } from "node:os";
import { buildBinary } from "../../support/binary.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { SLOTS } from "./site.ts";
import type { Scenario, World } from "./world.ts";

const EXIT_NO_SERVER = 69;
const EXIT_NO_SLOT = 75;

/** A command that says that it runs, and ends when its standard input ends. */
const UNTIL_INPUT_ENDS = ["sh", "-c", "echo started; cat > /dev/null; echo ended"];

class Wrapper {
  readonly #child: Bun.Subprocess<"pipe", "pipe", "pipe">;
  readonly #outputs: Promise<void>[];
  stdout = "";
  stderr = "";

  constructor(world: World, urls: readonly string[], flags: readonly string[]) {
    const servers = urls.flatMap((url) => ["--server", url]);
    const args = [
      "--product",
      world.product,
      "--user",
      "ada",
      "--exact-user",
      ...servers,
      ...flags,
    ];
    this.#child = Bun.spawn([buildBinary(), "run", ...args, "--", ...UNTIL_INPUT_ENDS], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
      cwd: tmpdir(),
      env: { PATH: process.env["PATH"] ?? "" },
    });
    this.#outputs = [
      this.#collect(this.#child.stdout, (text) => (this.stdout += text)),
      this.#collect(this.#child.stderr, (text) => (this.stderr += text)),
    ];
    world.atEnd(() => this.kill());
  }

  async waitForStart(): Promise<void> {
    await waitUntil(() => this.stdout.includes("started"), "the start of the command");
  }

  /** Lets the command end; the exit code, after everything that was printed has been read. */
  async end(): Promise<number> {
    void this.#child.stdin.end();
    const code = await this.#child.exited;
    await Promise.all(this.#outputs);
    return code;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    // The command ends with the input that it shares.
    void this.#child.stdin.end();
    await this.#child.exited;
  }

  async #collect(stream: ReadableStream<Uint8Array>, add: (text: string) => void): Promise<void> {
    const decoder = new TextDecoder();
    for await (const part of stream) add(decoder.decode(part, { stream: true }));
  }
}

const start = (world: World, urls: readonly string[], ...flags: string[]): Wrapper =>
  new Wrapper(world, urls, flags);

export const wrapperScenarios: readonly Scenario[] = [
  {
    title: "takes a slot and releases it",
    async run(world) {
      const proxy = await world.openProxy();
      const wrapper = start(world, [proxy.url]);
      await wrapper.waitForStart();
      expect(await world.server.slotsInUse()).toBe(1);
      expect(await wrapper.end()).toBe(0);
      expect([wrapper.stdout, wrapper.stderr]).toEqual(["started\nended\n", ""]);
      expect(await world.server.slotsInUse()).toBe(0);
      expect(proxy.requests.map(({ operation }) => operation)).toEqual(["register", "unregister"]);
    },
  },
  {
    title: "is refused when all slots are taken",
    async run(world) {
      await world.server.takeSlots(SLOTS);
      const wrapper = start(world, [world.server.url]);
      expect([await wrapper.end(), wrapper.stdout]).toEqual([EXIT_NO_SLOT, ""]);
    },
  },
  {
    title: "waits until a slot is released",
    async run(world) {
      const [other = ""] = await world.server.takeSlots(SLOTS);
      const wrapper = start(world, [world.server.url], "--wait", "10m");
      await waitUntil(async () => (await world.server.waiting()) === 1);
      await world.server.releaseUser(other);
      await wrapper.waitForStart();
      expect(await world.server.waiting()).toBe(0);
      expect(await wrapper.end()).toBe(0);
    },
  },
  {
    title: "leaves the queue when the wait is over",
    async run(world) {
      await world.server.takeSlots(SLOTS);
      const wrapper = start(world, [world.server.url], "--wait", "2s");
      expect([await wrapper.end(), wrapper.stdout]).toEqual([EXIT_NO_SLOT, ""]);
      expect(await world.server.waiting()).toBe(0);
    },
  },
  {
    title: "keeps the slot while the server is away for less than the time-out",
    async run(world) {
      const proxy = await world.openProxy();
      proxy.shortenTimeout(10);
      const wrapper = start(world, [proxy.url], "--on-loss", "kill");
      await wrapper.waitForStart();
      proxy.fail("*", { kind: "cut before" });
      await proxy.waitForCount("register", 3);
      proxy.heal();
      const before = proxy.count("register");
      await proxy.waitForCount("register", before + 2);
      expect(await wrapper.end()).toBe(0);
      expect(wrapper.stdout).toBe("started\nended\n");
      expect(wrapper.stderr).not.toContain("is lost");
    },
  },
  {
    title: "stops the command if the server is away for longer than the time-out",
    async run(world) {
      const proxy = await world.openProxy();
      proxy.shortenTimeout(3);
      const wrapper = start(world, [proxy.url], "--on-loss", "stop");
      await wrapper.waitForStart();
      proxy.goAway();
      await waitUntil(() => wrapper.stderr.includes("is lost"), "the message about the loss");
      expect(await wrapper.end()).not.toBe(0);
      expect(wrapper.stdout).toBe("started\n");
    },
  },
  {
    title: "reports the loss if the operator gave the slot to others",
    async run(world) {
      const proxy = await world.openProxy();
      proxy.shortenTimeout(3);
      const wrapper = start(world, [proxy.url]);
      await wrapper.waitForStart();
      await world.server.takeSlots(SLOTS - 1);
      await world.server.giveSlot("ada", "bob");
      await waitUntil(() => wrapper.stderr.includes("is lost"), "the message about the loss");
      expect(await wrapper.end()).toBe(0);
    },
  },
  {
    title: "uses the second server if the first one is the standby",
    async run(world) {
      const [first, second] = [await world.openProxy(), await world.openProxy()];
      const body = { status: 503, code: "standby", message: "the other host answers" };
      first.answer("*", { status: 503, body });
      const wrapper = start(world, [first.url, second.url]);
      await wrapper.waitForStart();
      expect(await wrapper.end()).toBe(0);
      expect([second.count("register"), second.count("unregister")]).toEqual([1, 1]);
    },
  },
  {
    title: "refuses another appliance than the one that answered first",
    async run(world) {
      const [first, second] = [await world.openProxy(), await world.openProxy()];
      for (const proxy of [first, second]) proxy.shortenTimeout(3);
      second.claimAppliance("0123456789ABCDEF");
      const wrapper = start(world, [first.url, second.url]);
      await wrapper.waitForStart();
      first.goAway();
      await waitUntil(() => wrapper.stderr.includes("is lost"), "the message about the loss");
      expect(await wrapper.end()).toBe(0);
    },
  },
  {
    title: "does not run the command without a server",
    async run(world) {
      const proxy = await world.openProxy();
      proxy.answer("*", { status: 502, appliance: null, body: "<html>Bad Gateway</html>" });
      const wrapper = start(world, [proxy.url, "http://127.0.0.1:1"]);
      expect([await wrapper.end(), wrapper.stdout]).toEqual([EXIT_NO_SERVER, ""]);
    },
  },
];
