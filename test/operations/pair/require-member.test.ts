import { describe, expect, test } from "bun:test";
import type { Pair } from "../../../src/domain/model/pair/pair.ts";
import { MONDAY } from "../../support/scenario.ts";
import { requireMember } from "../../../src/operations/pair/require-member.ts";
import { Identity } from "../../../src/operations/appliance/identity.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import type { HardwareComponent } from "../../../src/license/documents/hardware.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const COMPONENTS: readonly HardwareComponent[] = [
  { kind: "machine_id", value: "0123456789abcdef0123456789abcdef" },
  { kind: "product_uuid", value: "4c4c4544-0000-2010-8020-b4c04f564231" },
  { kind: "mac", value: "52:54:00:12:34:56" },
];

/** A pair whose host alpha has these components, and the identity of a machine with others. */
async function makeHosts(components: readonly HardwareComponent[]) {
  const folder = tempFolder();
  const admitted = new Identity(realDisk, folder, COMPONENTS);
  const appliance = await admitted.create();
  const { hardware, hardwareId } = admitted.hashHardware();
  const alpha = { name: "alpha", hardwareId, hardware, admittedAt: MONDAY };
  const facts = { log: "log", epoch: 1, leader: "alpha", leadsSince: MONDAY };
  const pair: Pair = { ...facts, hosts: new Map([["alpha", alpha]]) };
  const machine = new Identity(realDisk, folder, components);
  machine.open(appliance);
  return { pair, machine, hardwareId };
}

const asHost = (host: string, machine: Identity) => ({ host, ...machine.hashHardware() });

describe("the name of a host in a pair", () => {
  test("is refused on another machine, with both hardware ids", async () => {
    const { pair, machine, hardwareId } = await makeHosts([
      { kind: "machine_id", value: "another machine" },
      { kind: "mac", value: "52:54:00:12:34:56" },
    ]);
    const refuse = (): void => requireMember(pair, asHost("alpha", machine));
    expect(refuse).toThrow(hardwareId);
    expect(refuse).toThrow(machine.hashHardware().hardwareId);
  });

  test("is accepted on its machine after one part was replaced", async () => {
    const { pair, machine } = await makeHosts([
      ...COMPONENTS.slice(0, 2),
      { kind: "mac", value: "52:54:00:ff:ff:ff" },
    ]);
    expect(() => requireMember(pair, asHost("alpha", machine))).not.toThrow();
  });

  test("is refused if the pair has no such host, and accepted if there is no pair yet", async () => {
    const { pair, machine } = await makeHosts([{ kind: "mac", value: "52:54:00:ff:ff:ff" }]);
    expect(() => requireMember(pair, asHost("beta", machine))).toThrow(
      "host beta is no host of the pair (alpha)",
    );
    expect(() => requireMember(null, asHost("alpha", machine))).not.toThrow();
  });
});
