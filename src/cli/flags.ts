import { parseNetwork } from "../platform/networks.ts";
import { defaultDataFolder, type Option, type Value, type Wrong } from "../platform/options.ts";
import { parseListen } from "./listen.ts";

const listenCheck = (value: Value): Wrong | null =>
  parseListen(String(value)) !== null
    ? null
    : {
        wrong: "must be HOST:PORT, with a port up to 65535",
        hint: "for example 0.0.0.0:8080, or [::]:8080",
      };

const networksCheck = (value: Value): Wrong | null => {
  const wrong = [value].flat().find((network) => parseNetwork(String(network)) === null);
  return wrong === undefined
    ? null
    : { wrong: `must hold networks; ${wrong} is not a network`, hint: "for example 10.1.0.0/16" };
};

/** Every flag there is, each described once. */
export const option = {
  data: {
    name: "data",
    type: "string",
    value: "DIR",
    help: "the data folder",
    setting: true,
    path: true,
    fallback: defaultDataFolder,
  },
  demoData: {
    name: "data",
    type: "string",
    value: "DIR",
    help: "keep the demo's state here; without it, a temporary folder that is removed at the end",
    path: true,
  },
  listen: {
    name: "listen",
    type: "string",
    value: "HOST:PORT",
    help: "where applications reach it",
    setting: true,
    fallback: () => "0.0.0.0:8080",
    check: listenCheck,
  },
  demoListen: {
    name: "listen",
    type: "string",
    value: "HOST:PORT",
    help: "where applications reach it",
    fallback: () => "127.0.0.1:8080",
    check: listenCheck,
  },
  clientNetworks: {
    name: "client-networks",
    type: "list",
    value: "CIDR",
    help: "networks that may call; instead of the private ones and this machine's own",
    setting: true,
    check: networksCheck,
  },
  config: { name: "config", type: "string", value: "FILE", help: "settings, as TOML" },
  product: { name: "product", type: "string", value: "CODE", help: "of this product only" },
  demoProducts: {
    name: "product",
    type: "list",
    value: "CODE",
    help: "another product code to license, like DEMO; may be given several times",
  },
  ofProduct: {
    name: "product",
    type: "string",
    value: "CODE",
    help: "the product; may be left out while only one is installed",
  },
  user: { name: "user", type: "string", value: "NAME", help: "whose slot" },
  json: { name: "json", type: "boolean", help: "print JSON" },
} as const satisfies Readonly<Record<string, Option>>;
