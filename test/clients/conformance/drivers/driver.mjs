// Drives berth.js for the conformance suite: requests and replies are JSON lines. Runs with Node.js
// and with Bun. `--expose-gc` lets the operation `drop` collect garbage in Node.js.
import { createInterface } from "node:readline";
import { BerthError, Client } from "../../../../src/clients/berth.js";

const clients = new Map();
const slots = new Map();
const features = new Map();
/** Cancels the acquire of a slot. */
const controllers = new Map();

const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

function find(objects, name) {
  if (!objects.has(name)) throw new Error(`unknown name: ${name}`);
  return objects.get(name);
}

const describeError = (error) => ({
  kind:
    error instanceof BerthError
      ? error.name.replace(/Error$/, "")
      : `Unexpected ${error?.stack ?? error}`,
  code: error.code ?? null,
  status: error.status ?? null,
  message: error.message,
  request_id: error.requestId ?? null,
  key: error.key ?? null,
  position: error.position ?? null,
});

const describeSlot = (slot) => ({
  user: slot.user,
  license_id: slot.licenseId,
  registered_at: slot.registeredAt,
  expires_at: slot.expiresAt,
  is_held: slot.isHeld,
  is_borrowed: slot.isBorrowed,
});

const describeFeature = (feature) => ({ code: feature.code, is_held: feature.isHeld });

function reportLoss(name, error) {
  const { kind, code, message } = describeError(error);
  print({ event: "loss", slot: name, kind, code, message });
}

function controllerOf(slot) {
  if (!controllers.has(slot)) controllers.set(slot, new AbortController());
  return controllers.get(slot);
}

/** Removes the fields that the request left out. */
const pick = (fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => (value ?? null) !== null));

async function collectGarbage() {
  for (let count = 0; count < 5; count += 1) {
    if (globalThis.Bun) Bun.gc(true);
    else globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const OPERATIONS = {
  client({ client, urls, product, retry_for: retryFor, root_keys: rootKeys, ...rest }) {
    const { ca, certificate, login, timeout, nonce, retired, allow_plain_password } = rest;
    const access = { ca, certificate, login, allowPlainPassword: allow_plain_password };
    const options = pick({ ...access, timeout, nonce, retryFor, rootKeys, retired });
    clients.set(client, new Client(urls, product, options));
    return {};
  },
  async acquire({ client, slot, user, wait, license_id: licenseId, ...rest }) {
    const options = pick({ wait, licenseId, userInfo: rest.user_info });
    options.onLoss = (_slot, error) => reportLoss(slot, error);
    options.onWait = (position, length) => print({ event: "wait", slot, position, length });
    if (rest.is_cancellable) options.signal = controllerOf(slot).signal;
    const acquired = await find(clients, client).acquire(user, options);
    slots.set(slot, acquired);
    return describeSlot(acquired);
  },
  cancel({ slot }) {
    controllerOf(slot).abort(Object.assign(new Error("cancelled"), { code: "cancelled" }));
    return {};
  },
  slot: ({ slot }) => describeSlot(find(slots, slot)),
  license: ({ slot }) => ({ license: find(slots, slot).license }),
  async acquire_feature({ slot, feature, code }) {
    const onLoss = (_feature, error) => reportLoss(feature, error);
    features.set(feature, await find(slots, slot).acquireFeature(code, { onLoss }));
    return describeFeature(features.get(feature));
  },
  feature: ({ feature }) => describeFeature(find(features, feature)),
  async release({ slot, feature }) {
    const object = slot === undefined ? find(features, feature) : find(slots, slot);
    return { confirmed: await object.release() };
  },
  async release_user({ client, user }) {
    await find(clients, client).release(user);
    return {};
  },
  async borrow({ client, user, until, license_id: licenseId, key }) {
    const borrow = await find(clients, client).borrow(user, pick({ until, licenseId, key }));
    return {
      user: borrow.user,
      license_id: borrow.licenseId,
      borrowed_until: borrow.borrowedUntil,
      lease: borrow.lease,
      license: borrow.license,
    };
  },
  async consume({ client, n, feature, user, key, license_id: licenseId, ...rest }) {
    const overages = { maxOverages: rest.max_overages, allowOverages: rest.allow_overages };
    const options = pick({ feature, user, key, licenseId, ...overages });
    const { total, maximum, ...count } = await find(clients, client).consume(n ?? 1, options);
    return { total, maximum, key: count.key, license_id: count.licenseId };
  },
  async consume_many({ client, count, concurrency }) {
    const counts = { done: 0, failed: 0 };
    let left = count;
    const work = async () => {
      while (left > 0) {
        left -= 1;
        await find(clients, client)
          .consume(1)
          .then(
            () => (counts.done += 1),
            () => (counts.failed += 1),
          );
      }
    };
    await Promise.all(Array.from({ length: concurrency }, work));
    return counts;
  },
  async verify({ client, lease, license }) {
    const checked = await find(clients, client).verify(lease, license);
    return {
      user: checked.user,
      license_id: checked.licenseId,
      expires_at: checked.expiresAt,
      product: checked.product,
      serial: checked.serial,
    };
  },
  nonce: async ({ client }) => ({ nonce: await find(clients, client).nonce() }),
  async drop({ slot }) {
    slots.delete(slot);
    await collectGarbage();
    return {};
  },
  async close({ client }) {
    await find(clients, client).close();
    return {};
  },
};

async function answer({ id, op, ...fields }) {
  const operation = OPERATIONS[op];
  if (operation === undefined) {
    print({ id, error: { kind: "Unsupported", code: "unsupported", message: op } });
    return;
  }
  try {
    print({ id, ok: await operation(fields) });
  } catch (error) {
    print({ id, error: describeError(error) });
  }
}

createInterface({ input: process.stdin }).on("line", (line) => void answer(JSON.parse(line)));
