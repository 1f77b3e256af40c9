// The clients for Python, C and JavaScript behave alike: each one runs the same scenarios against
// the executable, through a proxy that breaks connections and lies.
//
//   bun run test:clients conformance                       all clients
//   BERTH_CLIENT=c bun run test:clients conformance        one of python, c, node, bun and run
import { beforeAll, describe, test } from "bun:test";
import { prepareDriver, selectedClients, type ClientName } from "./conformance/clients.ts";
import { SCENARIOS } from "./conformance/scenarios.ts";
import { makeSiteFolder, ProductOnServer, serveFolder } from "./conformance/site.ts";
import { runScenario } from "./conformance/world.ts";

/** A product of its own for each scenario of each client. */
const productOf = (client: ClientName, index: number): string => `${client}-${index}`;

let serverUrl = "";

beforeAll(async () => {
  const products = selectedClients.flatMap((client) =>
    SCENARIOS.map(({ terms = {} }, index) => [productOf(client, index), terms] as const),
  );
  serverUrl = (await serveFolder(await makeSiteFolder(Object.fromEntries(products)))).url;
});

for (const client of selectedClients) {
  describe.concurrent(client, () => {
    beforeAll(() => void prepareDriver(client));

    for (const [index, scenario] of SCENARIOS.entries()) {
      if (scenario.clients?.includes(client) === false) continue;
      test(scenario.title, async () => {
        const { product = productOf(client, index) } = scenario;
        await runScenario(scenario, client, new ProductOnServer(serverUrl, product));
      });
    }
  });
}
