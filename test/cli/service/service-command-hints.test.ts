import { expect, test } from "bun:test";
import { runBerth } from "../../support/run-berth.ts";

test.each([
  ["start", "run berth serve in the foreground; for an installed service: systemctl start berth"],
  ["stop", "press Ctrl-C to stop berth serve; for an installed service: systemctl stop berth"],
  [
    "restart",
    "stop berth serve and start it again; for an installed service: systemctl restart berth",
  ],
  [
    "reload",
    "for an installed service: systemctl reload berth; otherwise send SIGHUP to berth serve",
  ],
])("berth %s is an unknown command, with a hint about systemctl", async (word, hint) => {
  for (const words of [[word], [word, "--data", "/srv/berth"], ["help", word]]) {
    const { code, stdout, stderr } = await runBerth(words);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toBe(
      `berth: error: unknown command: ${word}\nberth: hint: ${hint}; berth help --all lists the commands\n`,
    );
  }
});
