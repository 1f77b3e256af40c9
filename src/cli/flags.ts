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

const monthsCheck = (value: Value): Wrong | null =>
  /^\d{1,4}$/.test(String(value))
    ? null
    : { wrong: "must be a number of months", hint: "for example 120, or 0 to keep everything" };

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
  identity: {
    name: "identity",
    type: "string",
    value: "NAME",
    help: "stands for the hardware where none can be told, as in a container; a weak binding",
    setting: true,
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
  historyKeepMonths: {
    name: "history-keep-months",
    type: "string",
    value: "N",
    help: "months of the record to keep besides the current one; 0 keeps all of it",
    setting: true,
    fallback: () => "0",
    check: monthsCheck,
  },
  acceptLoss: {
    name: "accept-loss",
    type: "boolean",
    help: "although the folder holds changes that the backup does not",
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
  licenseKey: {
    name: "license-key",
    type: "string",
    value: "KEY",
    help: "the vendor's name for what was bought",
  },
  out: { name: "out", type: "string", value: "FILE", help: "write it to this file", path: true },
  qr: { name: "qr", type: "boolean", help: "show it as QR codes too" },
  withBorrows: {
    name: "with-borrows",
    type: "boolean",
    help: "also while slots are borrowed; they are listed in the receipt",
  },
  yes: { name: "yes", type: "boolean", help: "do not ask" },
  initializationCode: {
    name: "initialization-code",
    type: "string",
    value: "CODE",
    help: "the vendor's initialization code, where one was given",
  },
  policy: {
    name: "policy",
    type: "string",
    value: "FILE",
    help: "the vendor's policy document",
    path: true,
  },
  policyId: { name: "policy-id", type: "string", value: "ID", help: "the policy's id" },
  code: { name: "code", type: "string", value: "CODE", help: "the confirmation code" },
  dir: { name: "dir", type: "string", value: "DIR", help: "the desk's folder", path: true },
  passphraseFile: {
    name: "passphrase-file",
    type: "string",
    value: "FILE",
    help: "the passphrase of the vendor's key; its first line",
    path: true,
  },
  name: { name: "name", type: "string", value: "NAME", help: "the vendor's name" },
  products: {
    name: "product",
    type: "list",
    value: "CODE",
    help: "a product the vendor may license; may be given several times",
  },
  request: {
    name: "request",
    type: "string",
    value: "FILE",
    help: "the site's request",
    path: true,
  },
  renew: {
    name: "renew",
    type: "string",
    value: "ID",
    help: "renew this license from the ledger, without a request",
  },
  licenseId: { name: "license-id", type: "string", value: "ID", help: "the license it continues" },
  isNew: { name: "new", type: "boolean", help: "another license beside those there are" },
  allowWeakBinding: {
    name: "allow-weak-binding",
    type: "boolean",
    help: "although little of the hardware can be told",
  },
  acceptFork: {
    name: "accept-fork",
    type: "string",
    value: "REASON",
    help: "although the site's record does not continue the one seen last",
  },
  activationCode: {
    name: "activation-code",
    type: "string",
    value: "CODE",
    help: "what the site read out",
  },
  serial: { name: "serial", type: "string", value: "N", help: "default: the ledger's next" },
  json: { name: "json", type: "boolean", help: "print JSON" },
} as const satisfies Readonly<Record<string, Option>>;
