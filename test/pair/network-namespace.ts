// A machine of its own, as far as the network is concerned: a network namespace with one link to
// the database and one to the clients, which can be taken down. Packets are then lost without a word.
import { isRoot } from "../support/other-user.ts";
import { atEnd } from "../support/suite-harness.ts";

/** Why this machine has no namespaces; null: it has. */
export function findNetworkObstacle(): string | null {
  if (!isRoot) return "needs root";
  if (Bun.which("ip") === null) return "needs iproute2";
  const name = `berth-${process.pid}-probe`;
  const { exitCode, stderr } = Bun.spawnSync(["ip", "netns", "add", name]);
  Bun.spawnSync(["ip", "netns", "del", name]);
  return exitCode === 0 ? null : stderr.toString().trim();
}

/** Makes names and addresses unique in this process; its id makes them unique on the machine. */
let count = 0;

type LinkName = "database" | "clients";

export class NetworkNamespace {
  readonly name: string;
  /** The address of this machine on the link to its clients. */
  readonly address: string;
  /** The address under which this machine reaches the database. */
  readonly gateway: string;
  readonly #links: Readonly<Record<LinkName, string>>;

  constructor() {
    const index = count;
    count += 1;
    this.name = `berth-${process.pid}-${index}`;
    // Addresses that no other network has: they are reserved for tests of networks.
    const subnet = `198.18.${process.pid % 250}`;
    const first = 16 * index;
    this.#links = { database: `bd${process.pid}-${index}`, clients: `bc${process.pid}-${index}` };
    this.gateway = `${subnet}.${first + 1}`;
    this.address = `${subnet}.${first + 10}`;
    run("ip", "netns", "add", this.name);
    atEnd(() => run("ip", "netns", "del", this.name));
    this.#addLink(this.#links.database, "db", this.gateway, `${subnet}.${first + 2}`);
    this.#addLink(this.#links.clients, "cl", `${subnet}.${first + 9}`, this.address);
    run("ip", "netns", "exec", this.name, "ip", "link", "set", "lo", "up");
  }

  /** Prefix of a command line that runs it there. */
  get prefix(): readonly string[] {
    return ["ip", "netns", "exec", this.name];
  }

  setLink(link: LinkName, state: "up" | "down"): void {
    run("ip", "link", "set", this.#links[link], state);
  }

  #addLink(outside: string, inside: string, outer: string, inner: string): void {
    run("ip", "link", "add", outside, "type", "veth", "peer", "name", inside, "netns", this.name);
    run("ip", "addr", "add", `${outer}/29`, "dev", outside);
    run("ip", "link", "set", outside, "up");
    run(...this.prefix, "ip", "addr", "add", `${inner}/29`, "dev", inside);
    run(...this.prefix, "ip", "link", "set", inside, "up");
  }
}

function run(...command: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(command);
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr.toString()}`);
}
