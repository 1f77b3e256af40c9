// The clients for Python, C and JavaScript behave alike: each one runs the same scenarios against
// the executable, through a proxy that breaks connections and lies. `berth run` has fewer of them.
//
//   bun run test:clients conformance                       all clients
//   BERTH_CLIENT=c bun run test:clients conformance        one of python, c, node, bun and run
import { beforeAll, describe, test } from "bun:test";
import type { Terms } from "../../src/domain/model/licenses/terms.ts";
import {
  isSelected,
  prepareDriver,
  selectedClients,
  type ClientName,
} from "./conformance/clients.ts";
import { repeatIfBusy } from "./conformance/repeat-if-busy.ts";
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

/** A product of its own for each scenario. */
const productOf = (index: number): string => `product-${index}`;

const productsOf = (scenarios: readonly Scenario[]) =>
  Object.fromEntries(scenarios.map(({ terms = {} }, index) => [productOf(index), terms]));

const serveAlone = async (product: string, terms: Partial<Terms>): Promise<string> =>
  (await serveFolder(await makeSiteFolder({ [product]: terms }))).url;

for (const { client, scenarios } of GROUPS) {
  // Side by side: most of a scenario is waiting.
  describe.concurrent(client, () => {
    let serverUrl = "";

    beforeAll(async () => {
      if (client !== "run") prepareDriver(client);
      serverUrl = (await serveFolder(await makeSiteFolder(productsOf(scenarios)))).url;
    });

    for (const [index, scenario] of scenarios.entries()) {
      test(scenario.title, async () => {
        const { product = productOf(index), terms = {} } = scenario;
        await repeatIfBusy(`${client} > ${scenario.title}`, async (timeScale) => {
          // What is left of a failed attempt must not disturb the next one.
          const url = timeScale === 1 ? serverUrl : await serveAlone(product, terms);
          await runScenario(scenario, client, new ProductOnServer(url, product), timeScale);
        });
      });
    }
  });
}
