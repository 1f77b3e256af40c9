import { describe, expect, onTestFinished, test } from "bun:test";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { join } from "node:path";
import {
  formatLocal,
  formatRfc5424,
  sendSyslog,
  type SyslogMessage,
} from "../../../src/platform/system/syslog.ts";
import { openDatagramSocket } from "../../support/datagram-socket.ts";
import { utc } from "../../support/scenario.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const MESSAGE: SyslogMessage = {
  severity: "warning",
  at: utc("2026-11-07T08:30:05.250Z"),
  hostname: "plant4",
  messageId: "disk_low",
  text: "disk_low raised: The disk has 12 MiB free",
};

describe("a syslog line", () => {
  test("of RFC 5424 has the priority, the time in UTC, host, program, process and message id", () => {
    expect(formatRfc5424(MESSAGE)).toBe(
      `<28>1 2026-11-07T08:30:05.250Z plant4 berth ${process.pid} disk_low - ${MESSAGE.text}`,
    );
  });

  test("of RFC 5424 has no host name that contains other characters than ASCII", () => {
    expect(formatRfc5424({ ...MESSAGE, hostname: "wärme 4" })).toContain("Z - berth ");
  });

  test("for the local socket has the local time, and no host", () => {
    const line = formatLocal(MESSAGE);
    expect(line).toMatch(/^<28>Nov {2}7 \d\d:\d\d:05 berth\[\d+\]: disk_low raised: The disk has/);
  });

  test.each([
    ["error", 27],
    ["warning", 28],
    ["notice", 29],
    ["info", 30],
  ] as const)("of severity %s has the priority %d", (severity, priority) => {
    expect(formatLocal({ ...MESSAGE, severity })).toStartWith(`<${priority}>`);
    expect(formatRfc5424({ ...MESSAGE, severity })).toStartWith(`<${priority}>1 `);
  });

  test("has at most 2,048 bytes, and no part of a character at its end", () => {
    for (const padding of ["", "a", "aa", "aaa"]) {
      const line = formatRfc5424({ ...MESSAGE, text: `${padding}${"🔑".repeat(1_000)}` });
      expect(Buffer.byteLength(line)).toBeLessThanOrEqual(2_048);
      expect(Buffer.byteLength(line)).toBeGreaterThan(2_040);
      expect(line).not.toContain("\ufffd");
    }
  });
});

describe.skipIf(process.platform !== "linux")("sendSyslog", () => {
  test("sends a line to a socket of this machine", async () => {
    const path = join(tempFolder(), "log");
    const messages = openDatagramSocket(path);
    expect(await sendSyslog({ path }, MESSAGE)).toBeNull();
    expect(messages()).toEqual([formatLocal(MESSAGE)]);
  });

  test("reports a socket that does not exist", async () => {
    const path = join(tempFolder(), "log");
    expect(await sendSyslog({ path }, MESSAGE)).toBe(`nothing receives messages at ${path}`);
  });

  test("does not wait for a receiver that never reads", async () => {
    const path = join(tempFolder(), "log");
    openDatagramSocket(path);
    const results: (string | null)[] = [];
    for (let count = 0; count < 2_000; count += 1) {
      results.push(await sendSyslog({ path }, MESSAGE));
    }
    expect(results[0]).toBeNull();
    expect(results.at(-1)).toContain("nothing receives messages");
  });

  test("sends a line by UDP", async () => {
    const receiver = createSocket("udp4");
    onTestFinished(() => void receiver.close());
    receiver.bind(0, "127.0.0.1");
    await once(receiver, "listening");
    const received = once(receiver, "message");
    expect(
      await sendSyslog({ host: "127.0.0.1", port: receiver.address().port }, MESSAGE),
    ).toBeNull();
    const [line] = (await received) as [Buffer];
    expect(line.toString()).toBe(formatRfc5424(MESSAGE));
  });

  test("reports a host whose name is not known", async () => {
    const failure = await sendSyslog({ host: "syslog.invalid", port: 514 }, MESSAGE);
    expect(failure).toMatch(/^the message to syslog\.invalid could not be sent \(.+\)$/);
  });
});
