// The clients for Python, C and JavaScript behave alike: each one runs the same scenarios against
// the executable, through a proxy that breaks connections and lies. `berth run` has fewer of them.
//
//   bun run test:clients conformance                       all clients
//   BERTH_CLIENT=c bun run test:clients conformance        one of python, c, node, bun and run
import { beforeAll, describe, test } from "bun:test";
import {
  isSelected,
  prepareDriver,
  selectedClients,
  type ClientName,
} from "./conformance/clients.ts";
import { SCENARIOS } from "./conformance/scenarios.ts";
import { makeSiteFolder, ProductOnServer, serveFolder } from "./conformance/site.ts";
import { runScenario, type Scenario } from "./conformance/world.ts";
import { wrapperScenarios } from "./conformance/wrapper.ts";

interface Group {
  readonly client: ClientName | "run";
  readonly scenarios: readonly Scenario[];
}

const GROUPS: readonly Group[] = [
  ...selectedClients.map((client) => ({
    client,
    scenarios: SCENARIOS.filter(({ clients }) => clients?.includes(client) ?? true),
  })),
  ...(isSelected("run") ? [{ client: "run" as const, scenarios: wrapperScenarios }] : []),
];

/** A product of its own for each scenario of each client. */
const productOf = ({ client }: Group, index: number): string => `${client}-${index}`;

let serverUrl = "";

beforeAll(async () => {
  const products = GROUPS.flatMap((group) =>
    group.scenarios.map(({ terms = {} }, index) => [productOf(group, index), terms] as const),
  );
  serverUrl = (await serveFolder(await makeSiteFolder(Object.fromEntries(products)))).url;
});

for (const group of GROUPS) {
  const { client, scenarios } = group;

  // Side by side: most of a scenario is waiting.
  describe.concurrent(client, () => {
    beforeAll(() => {
      if (client !== "run") prepareDriver(client);
    });

    for (const [index, scenario] of scenarios.entries()) {
      test(scenario.title, async () => {
        const { product = productOf(group, index) } = scenario;
        await runScenario(scenario, client, new ProductOnServer(serverUrl, product));
      });
    }
  });
}
