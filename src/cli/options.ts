import { defaultDataFolder, type Option } from "../platform/options.ts";

/** Every flag there is, each described once. */
export const option = {
  data: {
    name: "data",
    type: "string",
    value: "DIR",
    help: "the data folder",
    setting: true,
    fallback: defaultDataFolder,
  },
  demoData: {
    name: "data",
    type: "string",
    value: "DIR",
    help: "keep the demo's state here; without it, a temporary folder that is removed at the end",
  },
  listen: {
    name: "listen",
    type: "string",
    value: "HOST:PORT",
    help: "where applications reach it",
    setting: true,
    fallback: () => "0.0.0.0:8080",
  },
  demoListen: {
    name: "listen",
    type: "string",
    value: "HOST:PORT",
    help: "where applications reach it",
    fallback: () => "127.0.0.1:8080",
  },
  clientNetworks: {
    name: "client-networks",
    type: "list",
    value: "CIDR",
    help: "networks that may call; instead of the private ones and this machine's own",
    setting: true,
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
