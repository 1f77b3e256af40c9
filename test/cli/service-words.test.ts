import { expect, test } from "bun:test";
import { berth } from "../support/berth.ts";

test.each([
  ["start", "berth serve runs it by hand; an installed service: systemctl start berth"],
  ["stop", "Ctrl-C ends berth serve; an installed service: systemctl stop berth"],
  ["restart", "end berth serve and start it again; an installed service: systemctl restart berth"],
  ["reload", "an installed service: systemctl reload berth; by hand, send berth serve SIGHUP"],
])("berth %s is no command, and the hint names what does it", async (word, hint) => {
  for (const words of [[word], [word, "--data", "/srv/berth"], ["help", word]]) {
    const { code, stdout, stderr } = await berth(words);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toBe(
      `berth: error: there is no command ${word}\nberth: hint: ${hint}; berth help --all lists the commands\n`,
    );
  }
});
