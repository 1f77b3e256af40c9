// The client of Berth for JavaScript: one ES module without dependencies, for Node.js 18 or later,
// Bun, Deno 2 and browsers. The types and the description of every public name are in berth.d.ts.
//
//   import { Client } from "./berth.js";
//   const client = new Client(["http://license-1:8080", "http://license-2:8080"], "CAD");
//   const slot = await client.acquire("ada#ws-17", { wait: 60, onLoss: () => saveAndStop() });
//   …                        // the slot is renewed in the background
//   await client.close();    // releases it
//
// SPDX-License-Identifier: Apache-2.0

const MAX_BODY_BYTES = 1_048_576;
// The limits of a lease and a license, in bytes; the other clients have the same ones.
const MAX_DOCUMENT_LENGTH = 49_152;
const MAX_CERTIFICATE_LENGTH = 1_024;
const MAX_BUNDLE_LENGTH = 131_072;
/** Of one object. */
const MAX_MEMBERS = 256;
/** Its last second. */
const YEAR_9999 = 253_402_300_799;
/** One second. A slot is renewed three times in its time-out: a shorter one would be a flood. */
const MIN_TIMEOUT_MINUTES = 1 / 60;
const MAX_TIMEOUT_MINUTES = 5_256_000;
/** The longest time of one waiting request, in seconds. */
const MAX_WAIT_STEP = 30;
/** Seconds that the clocks of this machine and of the server may differ, either way. */
const LEEWAY = 60;
/**
 * The longest time between two looks at the clock, in milliseconds. Timers stop while a machine
 * sleeps, so a slot whose renewal is overdue is noticed at most this long after the machine wakes.
 */
const MAX_TICK = 15_000;
const RELEASE_LIMIT = 5_000;
/** A takeover of a pair: the other host answers `standby` until it leads. */
const RELEASE_LIMIT_STANDBY = 30_000;
const LAST_LIMIT = 3_000;
const MIN_PAUSE = 250;
/** A timer with a longer delay would fire at once. */
const MAX_TIMER = 2 ** 31 - 1;
const QUEUE_CODES = new Set(["floating_not_available", "slots_capped"]);

// ---------------------------------------------------------------------------------------------
// Errors

export class BerthError extends Error {
  constructor(message, { code, status = null, requestId = null, key = null } = {}) {
    super(message);
    this.name = this.constructor.name;
    this.code = code;
    this.status = status;
    this.requestId = requestId;
    this.key = key;
  }
}

export class NoFreeSlotError extends BerthError {
  constructor(message, { position = null, ...fields } = {}) {
    super(message, fields);
    this.position = position;
  }
}
export class AccessDeniedError extends BerthError {}
export class RefusedError extends BerthError {}
export class UnavailableError extends BerthError {}
export class TlsFailedError extends BerthError {}
export class OtherApplianceError extends BerthError {}
export class LeaseRefusedError extends BerthError {}
export class InvalidArgumentError extends BerthError {}

// Names that survive a minifier.
const ERRORS = {
  BerthError,
  NoFreeSlotError,
  AccessDeniedError,
  RefusedError,
  UnavailableError,
  TlsFailedError,
  OtherApplianceError,
  LeaseRefusedError,
  InvalidArgumentError,
};
for (const [name, type] of Object.entries(ERRORS))
  Object.defineProperty(type, "name", { value: name });

/** An attempt that did not get a final answer: another server, or a later attempt, may give one. */
class Failure extends Error {
  constructor(message, { code = null, status = null, requestId = null, ...facts } = {}) {
    super(message);
    this.code = code;
    this.status = status;
    this.requestId = requestId;
    this.retryAfter = facts.retryAfter ?? 0;
    this.hint = facts.hint ?? USUAL_HINT;
    this.isOtherAppliance = facts.isOtherAppliance ?? false;
    /** Repeating the request does not help. */
    this.isTlsFault = facts.isTlsFault ?? false;
    /** False: no part of the request was sent to a server that could read it. */
    this.wasSent = true;
  }
}

const USUAL_HINT = "check that the license server runs and that this machine can reach it";

const invalid = (message, code = "invalid_argument") => new InvalidArgumentError(message, { code });
const closedError = () => invalid("the client is closed; create a new one", "client_closed");

/** The reply that a refusal was made from, for the loop that waits in the queue. */
const refusalReplies = new WeakMap();

/** An error of a callback must not stop the renewal of slots. */
function runCallback(name, callback, ...values) {
  const report = (error) => console.error(`berth: the callback ${name} failed:`, error);
  try {
    const result = callback?.(...values);
    if (typeof result?.then === "function") result.then(undefined, report);
  } catch (error) {
    report(error);
  }
}

// ---------------------------------------------------------------------------------------------
// Runtime: Node.js, Bun and Deno have node: modules; a browser has fetch

const isBrowser = typeof globalThis.process?.versions?.node !== "string";
const BUILTIN_NAMES = ["http", "https", "tls", "fs", "os", "crypto", "child_process"];
let builtins = null;

/** Without waiting where the runtime can do that (Node.js 20.16 or later, Bun, Deno). */
function loadBuiltinsNow() {
  const load = globalThis.process?.getBuiltinModule;
  if (builtins === null && !isBrowser && load !== undefined) {
    builtins = Object.fromEntries(BUILTIN_NAMES.map((name) => [name, load(`node:${name}`)]));
  }
  return builtins;
}

async function loadBuiltins() {
  if (isBrowser || loadBuiltinsNow() !== null) return;
  builtins = Object.fromEntries(await Promise.all(BUILTIN_NAMES.map(importBuiltin)));
}

// The name is computed, so that a bundler for browsers does not look for these modules.
const importBuiltin = async (name) => [name, await import(/* @vite-ignore */ `node:${name}`)];

// Node.js 18 has no global crypto.
const getCrypto = () => globalThis.crypto ?? builtins?.crypto.webcrypto;

const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const makeKey = () => toHex(getCrypto().getRandomValues(new Uint8Array(16)));
const encode = (text) => new TextEncoder().encode(text);

/** The uptime has whole seconds on some systems. */
const CLOCK_DIFFERENCE = 1_500;

let sleepClock = null;

/**
 * Milliseconds of a clock that also counts while the machine sleeps, as that of `performance` does
 * not everywhere: the machine's uptime. Without it, the time of day, which can be set.
 */
function readSleepClock() {
  sleepClock ??= findUptime() ?? Date.now;
  return sleepClock();
}

const readUptime = () => 1000 * builtins.os.uptime();

function findUptime() {
  try {
    return readUptime() > 0 ? readUptime : null;
  } catch {
    // A browser, or Deno without the permission to read it.
    return null;
  }
}

const takeTime = () => ({ steady: performance.now(), onSleepClock: readSleepClock() });

function elapsedSince({ steady, onSleepClock }) {
  const elapsed = performance.now() - steady;
  const elapsedWithSleep = readSleepClock() - onSleepClock;
  return elapsedWithSleep - elapsed > CLOCK_DIFFERENCE ? elapsedWithSleep : elapsed;
}

/** The value, changed at random by up to the given share, so that clients do not act in step. */
const jitter = (value, share) => value * (1 - share + 2 * share * Math.random());

function sleep(milliseconds, signal) {
  let timer;
  const timeout = new Promise((resolve) => {
    timer = setTimeout(resolve, Math.min(milliseconds, MAX_TIMER));
  });
  return abortable(timeout, signal).finally(() => clearTimeout(timer));
}

/** The promise, unless the signal aborts first. */
function abortable(promise, signal) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** Waits for a background request, and keeps the process running meanwhile. */
async function awaitInForeground(promise) {
  if (!promise) return;
  const timer = setInterval(() => {}, 60_000);
  await promise.finally(() => clearInterval(timer));
}

/** Sends one request; `timeout` limits all of it, from the connection to the last byte. */
async function send(request) {
  const { timeout, signal, isBackground } = request;
  if (signal?.aborted) throw signal.reason;
  const controller = new AbortController();
  const cancel = () => controller.abort(signal.reason);
  const expire = () =>
    controller.abort(new Failure(`gave no complete reply in ${formatSeconds(timeout)}`));
  const timer = setTimeout(expire, Math.min(timeout, MAX_TIMER));
  // A renewal in flight does not keep a program from ending.
  if (isBackground) timer.unref?.();
  signal?.addEventListener("abort", cancel, { once: true });
  const progress = { wasSent: true };
  try {
    const exchange = isBrowser ? sendByFetch : sendByNode;
    const reply = exchange({ ...request, signal: controller.signal, progress });
    return await abortable(reply, controller.signal);
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    throw toFailure(error, progress.wasSent);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", cancel);
    // Closes the connection of a reply that was not read to its end.
    controller.abort();
  }
}

function sendByNode({ url, method, headers, body, signal, isBackground, node, progress }) {
  return new Promise((resolve, reject) => {
    const isTls = url.startsWith("https:");
    const { request } = isTls ? builtins.https : builtins.http;
    const connection = isTls ? { agent: node.httpsAgent, ...node.tls } : { agent: node.httpAgent };
    const outgoing = request(url, { method, headers, ...connection });
    signal.addEventListener("abort", () => outgoing.destroy(), { once: true });
    outgoing.on("socket", (socket) => {
      if (isBackground) socket.unref?.();
      // The request is sent as soon as there is a connection.
      if (!socket.connecting) return;
      progress.wasSent = false;
      socket.once(isTls ? "secureConnect" : "connect", () => (progress.wasSent = true));
    });
    outgoing.on("error", reject);
    outgoing.on("response", (incoming) => {
      const chunks = [];
      let size = 0;
      incoming.on("data", (chunk) => {
        size += chunk.length;
        if (size > MAX_BODY_BYTES) reject(tooLarge());
        else chunks.push(chunk);
      });
      incoming.on("error", reject);
      incoming.on("close", () => reject(new Failure("cut the connection during its reply")));
      incoming.on("end", () => {
        if (!incoming.complete) return;
        const header = (name) => incoming.headers[name]?.toString() ?? null;
        resolve({ status: incoming.statusCode, header, bytes: Buffer.concat(chunks) });
      });
    });
    outgoing.end(body);
  });
}

const tooLarge = () => new Failure("gave a reply of more than 1 MiB");

async function sendByFetch({ url, method, headers, body, signal }) {
  const options = { redirect: "manual", credentials: "omit", cache: "no-store" };
  const response = await fetch(url, { method, headers, body, ...options, signal });
  const chunks = [];
  let size = 0;
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part && !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > MAX_BODY_BYTES) throw tooLarge();
    chunks.push(part.value);
  }
  const bytes = new Uint8Array(await new Blob(chunks).arrayBuffer());
  return { status: response.status, header: (name) => response.headers.get(name), bytes };
}

// ---------------------------------------------------------------------------------------------
// Replies

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value) => typeof value === "string" && value !== "";
const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
const isTime = (value) =>
  typeof value === "string" &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(value) &&
  !Number.isNaN(Date.parse(value));

function requireField(isValid, name) {
  if (!isValid) throw new Failure(`gave a reply that is not valid: ${name}`);
}

/** The text of a reply; a byte that is not UTF-8 makes it invalid. */
function readText({ bytes }) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Failure("gave a reply that is not valid UTF-8");
  }
}

function readObject(reply) {
  const text = readText(reply);
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Failure("gave a reply that is not valid JSON");
  }
  requireField(isObject(value), "it is not an object");
  return value;
}

function readTimeout(minutes) {
  const isAtLeast = typeof minutes === "number" && minutes >= MIN_TIMEOUT_MINUTES;
  requireField(isAtLeast && minutes <= MAX_TIMEOUT_MINUTES, "floating_timeout");
  return minutes * 60_000;
}

function readSlot(reply) {
  const body = readObject(reply);
  requireField(isCount(body.license_id), "license_id");
  requireField(isTime(body.registered_at), "registered_at");
  requireField(isTime(body.expires_at), "expires_at");
  requireField(typeof body.is_borrowed === "boolean", "is_borrowed");
  requireField(typeof body.license_json === "string", "license_json");
  const license = readObject({ bytes: encode(body.license_json) });
  return {
    licenseId: body.license_id,
    registeredAt: body.registered_at,
    expiresAt: body.expires_at,
    isBorrowed: body.is_borrowed,
    lifetime: readTimeout(body.floating_timeout),
    license,
  };
}

function readBorrow(reply) {
  const { licenseId } = readSlot(reply);
  const { borrowed_until: borrowedUntil, lease = null } = readObject(reply);
  requireField(isTime(borrowedUntil), "borrowed_until");
  requireField(lease === null || typeof lease === "string", "lease");
  return { licenseId, borrowedUntil, lease };
}

const readFeature = (reply) => ({ lifetime: readTimeout(readObject(reply).floating_timeout) });

function readConsumption(reply) {
  const body = readObject(reply);
  const { license_id: licenseId, total_consumptions: total, max_consumptions: maximum } = body;
  requireField(isCount(licenseId), "license_id");
  requireField(Number.isSafeInteger(total), "total_consumptions");
  requireField(maximum === null || isCount(maximum), "max_consumptions");
  return { total, maximum, licenseId };
}

function readLicenseText(reply) {
  const text = readText(reply);
  if (text.trimStart().startsWith("{")) readObject(reply);
  else requireField(/^[\w-]+\.[\w-]+\.[\w-]+\s*$/.test(text), "it is not a license");
  return text;
}

/** `unregister` and `featureRelease` reply with one word. */
function readWord(reply) {
  requireField(/^[a-z_]{1,64}\s*$/.test(readText(reply)), "it is not a word");
  return true;
}

function readToken(reply) {
  const { token } = readObject(reply);
  requireField(typeof token === "string" && /^[\x21-\x7e]{1,4096}$/.test(token), "token");
  return token;
}

/** Code and message of an error reply, or null if the body is not one. */
function readErrorBody(reply) {
  try {
    const body = readObject(reply);
    const code = isText(body.code) ? cleanText(body.code).trim().slice(0, 39) : "";
    return code === "" ? null : { ...body, code };
  } catch {
    return null;
  }
}

// Such characters could change a terminal which shows them, or the order of a text.
const cleanText = (text) =>
  (typeof text === "string" ? text : "")
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, " ")
    .slice(0, 400);

/** What a server says in an error reply, and its code. */
function describeReply({ code, message }) {
  const text = cleanText(message).trim().replace(/\.$/, "");
  return text === "" ? code : `${text} (${code})`;
}

const HINTS = {
  tls_required: "use the https:// address of the server",
  cross_site: "a web page can only call the server that it was loaded from",
};

/** What helps against a refusal: only what the server's message cannot know. */
function findHint(code, isDenied, hasLogin) {
  if (code === "unauthorized") return hasLogin ? "check the option login" : "give the option login";
  return HINTS[code] ?? (isDenied ? "ask the operator of the server for access" : null);
}

function makeRefusal(server, reply, body, hasLogin) {
  const { code } = body;
  const { status } = reply;
  const isQueued = QUEUE_CODES.has(code);
  const isDenied = status === 401 || status === 403;
  const Type = isQueued ? NoFreeSlotError : isDenied ? AccessDeniedError : RefusedError;
  const hint = findHint(code, isDenied, hasLogin);
  const message = joinParts(`${server.url} refused: ${describeReply(body)}`, hint);
  const { position } = isObject(body.queue) ? body.queue : {};
  const fields = { code, status, requestId: reply.header("x-request-id") };
  const refusal = new Type(message, { ...fields, position: isCount(position) ? position : null });
  refusalReplies.set(refusal, { reply, body });
  return refusal;
}

function readRetryAfter(reply) {
  const value = reply.header("retry-after");
  return value !== null && /^\d{1,9}$/.test(value) ? Number(value) : 0;
}

/**
 * Faults of TLS by the codes and messages of Node.js and Bun: what is said of the server, with the
 * message in place of {}, and what helps.
 */
const TLS_FAULTS = [
  [
    /CERT_UNTRUSTED|SELF_SIGNED_CERT|UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)|CERT_SIGNATURE_FAILURE/,
    "has a certificate that is not trusted: {}",
    "give the CA of the site with the option ca",
  ],
  [
    /CERT_HAS_EXPIRED/,
    "has a certificate that has expired",
    "renew it on the server with berth tls init, and check the clock of this machine",
  ],
  [
    /CERT_NOT_YET_VALID/,
    "has a certificate that is not valid yet",
    "check the clocks of this machine and of the server",
  ],
  [
    /ALTNAME_INVALID|HOSTNAME_MISMATCH/,
    "has a certificate for other names: {}",
    "use a name of the server that is in its certificate",
  ],
  [
    /wrong.version.number|packet.length.too.long|http.request/i,
    "does not answer by TLS",
    "check that the address is the TLS address",
  ],
  [
    /alert.(.*certificate|unknown.ca|access.denied|handshake.failure)/i,
    "refused the certificate of this client, or wants one: {}",
    "give a certificate that the server accepts with the option certificate",
  ],
];

/** Any other error of TLS and of the check of a certificate; those of the system begin with E. */
const TLS_CODE = /^(EPROTO$|ERR_SSL_|ERR_TLS_|(?!E)[A-Z_]+$)/;

/** The fault of TLS that an error stands for; null: it is none, or not of the handshake. */
function findTlsFault(code, reason, wasSent) {
  const known = TLS_FAULTS.find(([pattern]) => pattern.test(`${code} ${reason}`));
  // With TLS 1.3 a client learns after its request that the server refused its certificate.
  if (known === undefined && (wasSent || !TLS_CODE.test(code))) return null;
  const [, text, hint] = known ?? [null, "cannot be used by TLS: {}", "check its TLS settings"];
  // OpenSSL puts the names of its functions and files around its message.
  const [, name] = /SSL routines:[^:]*:([^:]*)/.exec(reason) ?? [];
  const shown = name?.toLowerCase().replaceAll("_", " ") ?? reason.replace(/[:\s]+$/, "");
  return new Failure(
    text.replace("{}", () => shown),
    { hint, isTlsFault: true },
  );
}

/** The failure that an error of the network stands for. */
function toFailure(error, wasSent) {
  const failure = error instanceof Failure ? error : findNetworkFailure(error, wasSent);
  failure.wasSent = wasSent && !failure.isTlsFault;
  return failure;
}

function findNetworkFailure(error, wasSent) {
  // Node.js gives the failure of several addresses of one host an empty message.
  const { code, message } = error?.message ? error : (error?.errors?.[0] ?? error ?? {});
  const reason = message || String(code);
  const hint = "check the name of the server, and whether this machine can look it up";
  if (code === "ENOTFOUND") return new Failure("cannot be reached: no such host", { hint });
  if (code === "EAI_AGAIN") return new Failure("cannot be looked up now", { hint });
  return findTlsFault(code, reason, wasSent) ?? new Failure(`cannot be reached: ${reason}`);
}

const formatSeconds = (milliseconds) => `${Math.max(Math.round(milliseconds / 100), 1) / 10} s`;
const joinParts = (...parts) => parts.filter((part) => part).join("; ");

/** Whether a server said why it did not do the call. */
const hasReply = ([, { code }]) => code !== null;

/**
 * The error of a call without a final answer, from the last failure of each server. `wasSent`: in
 * any of the attempts.
 */
function makeUnavailable(failures, { lastReply, elapsed, key, wasSent }) {
  // First what a server said, then why others said nothing.
  const all = [...failures];
  const sorted = [...all.filter(hasReply), ...all.filter((each) => !hasReply(each))];
  const reasons = sorted.map(([{ url }, { message }]) => `${url} ${cleanText(message)}`);
  const other = [...failures.values()].find(({ isOtherAppliance }) => isOtherAppliance);
  if (other !== undefined && lastReply === null) {
    const text = `the addresses lead to more than one license server: ${joinParts(...reasons)}`;
    const hint = "give only the addresses of one server, or of both hosts of one pair";
    const { status, requestId } = other;
    const fields = { code: "other_appliance", status, requestId, key };
    return new OtherApplianceError(joinParts(text, hint), fields);
  }
  const hints = new Set(sorted.map(([, { hint }]) => hint));
  const doubt = wasSent
    ? `the call may have been counted: repeat it with the key ${key}`
    : "nothing was sent, so nothing was counted";
  const notes = joinParts(...hints, key && doubt);
  const isTlsFault = sorted.every(([, failure]) => failure.isTlsFault);
  if (isTlsFault)
    return new TlsFailedError(joinParts(...reasons, notes), { code: "tls_failed", key });
  const seconds = elapsed < 1000 ? null : `${Math.round(elapsed / 1000)} s`;
  const { code, status, requestId } = lastReply ?? { code: "unreachable" };
  const text = hasReply(sorted[0])
    ? joinParts(...reasons, seconds && `repeated for ${seconds}`)
    : `no server answered${seconds ? ` in ${seconds}` : ""}: ${joinParts(...reasons)}`;
  return new UnavailableError(joinParts(text, notes), { code, status, requestId, key });
}

// ---------------------------------------------------------------------------------------------
// Lease check: the vendor signs the license, which names the appliance's key; the appliance signs
// the lease, but no more than the vendor granted

const SYMBOLS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

const refuseLease = (code, message) => new LeaseRefusedError(message, { code });

function decodeBase64(text) {
  if (typeof text !== "string" || !/^[\w-]*$/.test(text) || text.length % 4 === 1) return null;
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(plain, (symbol) => symbol.charCodeAt(0));
  // The last character has spare bits: only one spelling is valid.
  return encodeBase64(bytes) === text ? bytes : null;
}

function encodeBase64(bytes) {
  const plain = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(plain).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Strict JSON: an object, of which no part has a member twice or too many. Otherwise null. */
function parseStrictObject(text) {
  try {
    const value = JSON.parse(text);
    return isObject(value) && !hasWrongMembers(text) ? value : null;
  } catch {
    return null;
  }
}

/** For a text that is known to be valid JSON: a string before a colon is the name of a member. */
function hasWrongMembers(text) {
  const open = [];
  for (const [token, name] of text.matchAll(/("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (token === "{") open.push(new Set());
    else if (token === "}") open.pop();
    else if (name !== undefined) {
      const members = open.at(-1);
      const member = JSON.parse(name);
      if (members.has(member) || members.size === MAX_MEMBERS) return true;
      members.add(member);
    }
  }
  return false;
}

/** The parts of a signed document of one type, or null. The signature is not checked here. */
function parseDocument(text, type) {
  if (text.length > MAX_DOCUMENT_LENGTH) return null;
  const parts = text.split(".");
  const [headerBytes, payloadBytes, signature] = parts.map(decodeBase64);
  if (parts.length !== 3 || !headerBytes || !payloadBytes || !signature) return null;
  try {
    const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const headerText = utf8.decode(headerBytes);
    const header = parseStrictObject(headerText);
    const payload = parseStrictObject(utf8.decode(payloadBytes));
    if (!header || !payload || header.alg !== "EdDSA" || header.typ !== type) return null;
    if ("crit" in header || typeof header.kid !== "string") return null;
    return { header, headerText, payload, signed: encode(`${parts[0]}.${parts[1]}`), signature };
  } catch {
    return null;
  }
}

/** Public keys of small order, with the highest bit clear: one signature fits every text. */
const SMALL_ORDER_KEYS = new Set([
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]);

/** The 32 bytes of an Ed25519 public key: of a JSON Web Key, or of its member `x` alone. */
function readKey(key) {
  const isJwk = isObject(key);
  if (isJwk && (key.kty !== "OKP" || key.crv !== "Ed25519")) return null;
  const bytes = decodeBase64(isJwk ? key.x : key);
  if (bytes?.length !== 32) return null;
  const unsigned = toHex(Uint8Array.from(bytes, (byte, i) => (i === 31 ? byte & 127 : byte)));
  return SMALL_ORDER_KEYS.has(unsigned) ? null : bytes;
}

function getSubtle() {
  const subtle = getCrypto()?.subtle;
  if (subtle) return subtle;
  const reason = "this runtime has no WebCrypto; in a browser, load the page by https://";
  throw refuseLease("verify_unavailable", `the lease cannot be checked: ${reason}`);
}

async function verifySignature(keyBytes, { signed, signature }) {
  const subtle = getSubtle();
  try {
    const key = await subtle.importKey("raw", keyBytes, { name: "Ed25519" }, false, ["verify"]);
    return await subtle.verify({ name: "Ed25519" }, key, signature, signed);
  } catch (error) {
    // Some runtimes refuse bytes that are no point of the curve: such a key fits nothing.
    if (error?.name !== "NotSupportedError") return false;
    const reason = "this runtime has no Ed25519 in WebCrypto; update it";
    throw refuseLease("verify_unavailable", `the lease cannot be checked: ${reason}`);
  }
}

const hash = async (bytes) => new Uint8Array(await getSubtle().digest("SHA-256", bytes));

function concatBytes(...items) {
  const joined = new Uint8Array(items.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const item of items) {
    joined.set(item, offset);
    offset += item.length;
  }
  return joined;
}

const isEqualBytes = (a, b) => a.length === b.length && a.every((byte, index) => byte === b[index]);

function areTermsValid(terms) {
  const isHours = (value) => value === null || value === undefined || isCount(value);
  return (
    isObject(terms) &&
    typeof terms.product === "string" &&
    typeof terms.enabled === "boolean" &&
    (terms.start === null || isTime(terms.start)) &&
    (terms.valid_until === null || isTime(terms.valid_until)) &&
    isHours(terms.grace_hours) &&
    isHours(terms.borrow_hours) &&
    isCount(terms.timeout_minutes)
  );
}

const malformedLicense = () => refuseLease("license_malformed", "the license is malformed");
const forgedLicense = () =>
  refuseLease("license_forged", "the license is not signed by the vendor of this application");

const hasOnly = (value, names) =>
  isObject(value) &&
  Object.keys(value).length === names.length &&
  names.every((name) => Object.hasOwn(value, name));

/** Whether a header has these members alone, in this order, without white space. */
const hasExactHeader = ({ header, headerText }, names) =>
  names.every((name) => typeof header[name] === "string") &&
  headerText === JSON.stringify(Object.fromEntries(names.map((name) => [name, header[name]])));

/** A license or policy with the certificate of the issuing key that signed it; otherwise null. */
function parseCertified(text, type) {
  const document = parseDocument(text, type);
  if (!document || !hasExactHeader(document, ["alg", "typ", "kid", "cert"])) return null;
  const { cert } = document.header;
  const certificate =
    cert.length > MAX_CERTIFICATE_LENGTH ? null : parseDocument(cert, "berth-key+jwt");
  if (!certificate || !hasOnly(certificate.header, ["alg", "typ", "kid"])) return null;
  const { iss, iat, until, cnf, trust } = certificate.payload;
  const areMembersKnown =
    hasOnly(certificate.payload, ["iss", "iat", "until", "cnf", "trust"]) && hasOnly(cnf, ["jwk"]);
  const key = areMembersKnown && isObject(cnf.jwk) ? readKey(cnf.jwk) : null;
  // Installed licenses outlive their key: `until` is not compared with the time.
  const areValuesValid =
    typeof iss === "string" &&
    [iat, until].every((seconds) => isCount(seconds) && seconds <= YEAR_9999) &&
    iat < until &&
    isCount(trust) &&
    trust >= 1 &&
    trust <= 1_000_000;
  return key && areValuesValid ? { document, certificate, vendor: iss, key } : null;
}

/** The first 80 bits of the hash of a key, which name its owner. */
async function keyId(key) {
  const digits = toHex((await hash(key)).subarray(0, 10));
  const symbols = BigInt(`0x${digits}`).toString(32).padStart(16, "0");
  return symbols.replaceAll(/./g, (symbol) => SYMBOLS[parseInt(symbol, 32)]);
}

/** The root of the vendor: it signed the certificate, and the issuing key the document. */
async function requireRoot({ document, certificate, vendor, key }, { rootKeys, retired }) {
  const ids = await Promise.all(rootKeys.map(keyId));
  const root = rootKeys[ids.indexOf(vendor)];
  // A root signs certificates alone.
  const isIssuingKey = !rootKeys.some((rootKey) => isEqualBytes(rootKey, key));
  const isGenuine =
    root !== undefined &&
    isIssuingKey &&
    certificate.header.kid === vendor &&
    document.header.kid === (await keyId(key)) &&
    document.payload.iss === vendor &&
    (await verifySignature(root, certificate)) &&
    (await verifySignature(key, document));
  if (!isGenuine) throw forgedLicense();
  if (retired.some((retiredKey) => isEqualBytes(retiredKey, key))) {
    const text = "the license is signed with a retired key; ask the operator to renew it";
    throw refuseLease("retired_key", text);
  }
  return root;
}

/** What the vendor granted, from a license document. */
async function readSignedLicense(text, accepted) {
  const certified = parseCertified(text, "berth-license+jwt");
  if (!certified) throw malformedLicense();
  const { appliance, cnf, license_id: licenseId, serial, terms } = certified.document.payload;
  const key = isObject(cnf) && isObject(cnf.jwk) ? readKey(cnf.jwk) : null;
  const areIdsValid = typeof appliance === "string" && isCount(licenseId) && isCount(serial);
  if (!key || !areIdsValid || !areTermsValid(terms)) throw malformedLicense();
  await requireRoot(certified, accepted);
  return { appliance, key, licenseId, serial, lic: toHex(await hash(encode(text))), terms };
}

/** A code in canonical symbols: as people read it, I and L are 1, and O is 0. */
const canonicalCode = (code) =>
  code
    .toUpperCase()
    .replaceAll(/[^0-9A-Z]/g, "")
    .replaceAll(/[IL]/g, "1")
    .replaceAll("O", "0");

/** The first bytes that symbols of 5 bits stand for, or null. */
function decodeSymbols(symbols, count) {
  const values = Array.from(symbols, (symbol) => SYMBOLS.indexOf(symbol));
  if (values.includes(-1) || values.length * 5 < count * 8) return null;
  const bits = values.map((value) => value.toString(2).padStart(5, "0")).join("");
  return Uint8Array.from({ length: count }, (_, i) => parseInt(bits.slice(8 * i, 8 * i + 8), 2));
}

const decodeHex = (text) =>
  Uint8Array.from(text.match(/../g) ?? [], (digits) => parseInt(digits, 16));

/** What the vendor granted by a confirmation code, from the bundle of the license. */
async function readLicenseByCode(text, accepted) {
  const bundle = encode(text).length > MAX_BUNDLE_LENGTH ? null : parseStrictObject(text);
  const names = ["policy", "confirmation_code", "license_key", "appliance_id", "hardware_prefix"];
  const isString = (name) => typeof bundle[name] === "string";
  if (!bundle || ![...names, "nonce", "initialization_code"].every(isString))
    throw malformedLicense();
  const { kind, license_key, appliance_id, hardware_prefix, nonce, appliance_jwk } = bundle;
  const isHex = [hardware_prefix, nonce].every((value) => /^[0-9a-f]{10}$/.test(value));
  const symbols = canonicalCode(bundle.confirmation_code);
  // Rows of 19 symbols and a check symbol, which was compared when the code was typed.
  const code =
    symbols.length === 115 ? decodeSymbols(symbols.replaceAll(/(.{19})./g, "$1"), 68) : null;
  const appliance = /^.{16}$/.test(appliance_id) ? decodeSymbols(appliance_id, 10) : null;
  const key = isObject(appliance_jwk) ? readKey(appliance_jwk) : null;
  const policy = parseCertified(bundle.policy, "berth-policy+jwt");
  const isKnown = bundle.version === 2 && (kind === 1 || kind === 2);
  if (!isKnown || !isHex || !code || !appliance || !key || !policy) throw malformedLicense();
  const { terms } = policy.document.payload;
  if (!areTermsValid(terms)) throw malformedLicense();

  const licenseKey = encode(license_key.normalize("NFC"));
  const items = [
    encode("berth-confirm-v2"),
    Uint8Array.of(kind),
    appliance,
    decodeHex(hardware_prefix),
    decodeHex(nonce),
    licenseKey,
    await hash(encode(bundle.policy)),
    encode(canonicalCode(bundle.initialization_code)),
    code.subarray(64),
  ];
  const frame = (item) => {
    const { length } = item;
    return concatBytes(Uint8Array.of(0, length >> 16, (length >> 8) & 255, length & 255), item);
  };
  const confirmation = {
    signed: concatBytes(...items.map(frame)),
    signature: code.subarray(0, 64),
  };
  const ownId = (await hash(key)).subarray(0, 10);
  const isConfirmed =
    isEqualBytes(ownId, appliance) && (await verifySignature(policy.key, confirmation));
  if (!isConfirmed) throw forgedLicense();
  const root = await requireRoot(policy, accepted);
  const days = code[64] * 256 + code[65];
  const end = days === 0 ? {} : { valid_until: new Date(days * 86_400_000).toISOString() };
  const id = toHex(await hash(concatBytes(root, licenseKey)));
  return {
    appliance: appliance_id,
    key,
    licenseId: parseInt(id.slice(0, 13), 16),
    serial: code[66] * 256 + code[67],
    lic: toHex(await hash(code)),
    terms: { ...terms, ...end },
  };
}

function isLeaseValid({ iss, sub, aud, license_id, serial, lic, iat, exp, nbf, nonce }) {
  const texts = [iss, sub, aud, lic];
  return (
    texts.every((value) => typeof value === "string") &&
    [license_id, serial].every(isCount) &&
    [iat, exp, nbf === undefined ? iat : nbf].every(
      (seconds) => isCount(seconds) && seconds <= YEAR_9999,
    ) &&
    (nonce === null || nonce === undefined || typeof nonce === "string")
  );
}

const toSeconds = (time, never) => (time === null ? never : Date.parse(time) / 1000);

async function checkLease(lease, license, { product, nonce, ...accepted }) {
  const readLicense = license.startsWith("{") ? readLicenseByCode : readSignedLicense;
  const granted = await readLicense(license, accepted);
  const document = parseDocument(lease, "berth-lease+jwt");
  if (!document || !isLeaseValid(document.payload)) {
    throw refuseLease("lease_malformed", "the lease is malformed");
  }
  const { payload, header } = document;
  const { appliance, terms } = granted;
  const isSigned = await verifySignature(granted.key, document);
  const now = Date.now() / 1000;
  const end = toSeconds(terms.valid_until, Infinity) + 3600 * (terms.grace_hours ?? 0);
  const longest = Math.max(60 * terms.timeout_minutes, 3600 * (terms.borrow_hours ?? 0));
  const { iss, iat, exp, nbf = iat } = payload;
  const isSameLicense =
    payload.license_id === granted.licenseId &&
    payload.serial === granted.serial &&
    payload.lic === granted.lic;
  const rules = [
    ["lease_forged", isSigned, "is not signed by the appliance of the license"],
    ["lease_forged", iss === appliance && header.kid === appliance, "is of another appliance"],
    ["other_product", terms.product === product, "comes with a license for another product"],
    ["other_product", payload.aud === product, "is for another product"],
    ["license_disabled", terms.enabled, "cannot be used: the vendor disabled the license"],
    [
      "license_not_started",
      toSeconds(terms.start, 0) <= now + LEEWAY,
      "is of a license that begins later",
    ],
    ["license_ended", now < end + LEEWAY, "is of a license that has ended"],
    ["lease_expired", now < exp + LEEWAY, "has expired; borrow again"],
    ["lease_outlasts_license", exp <= end, "outlasts the license"],
    ["lease_too_long", exp - iat <= longest + LEEWAY, "is longer than the license allows"],
    [
      "lease_not_started",
      Math.max(iat, nbf) <= now + LEEWAY,
      "begins in the future; check the clock",
    ],
    ["other_license", isSameLicense, "is of another license"],
    ["other_device", payload.nonce === nonce, "is for another device; borrow on this one"],
  ];
  for (const [code, holds, text] of rules) {
    if (!holds) throw refuseLease(code, `the lease ${text}`);
  }
  return {
    user: payload.sub,
    licenseId: payload.license_id,
    expiresAt: new Date(exp * 1000).toISOString().replace(/\.\d+Z$/, "Z"),
    product: payload.aud,
    serial: payload.serial,
  };
}

/** A name of this machine that no other machine has, without telling what it is. */
async function makeDeviceNonce() {
  if (isBrowser) return keepBrowserNonce();
  const id = await readMachineId();
  if (!id) throw invalid("this machine has no machine id that can be read; give the option nonce");
  return builtins.crypto.createHash("sha256").update(`berth-device-v1:${id}`).digest("hex");
}

/** The output of a program; empty if it fails. */
const runProgram = (file, ...args) =>
  new Promise((resolve) => {
    const options = { timeout: 10_000, windowsHide: true };
    const finish = (_error, output) => resolve(output ?? "");
    builtins.child_process.execFile(file, args, options, finish);
  });

async function readMachineId() {
  const { platform, env } = globalThis.process;
  if (platform === "darwin") {
    const output = await runProgram("/usr/sbin/ioreg", "-rd1", "-c", "IOPlatformExpertDevice");
    return /"IOPlatformUUID" = "([^"]+)"/.exec(output)?.[1].trim();
  }
  if (platform === "win32") {
    const program = `${env.SystemRoot ?? "C:\\Windows"}\\System32\\reg.exe`;
    const key = "HKLM\\SOFTWARE\\Microsoft\\Cryptography";
    const output = await runProgram(program, "query", key, "/v", "MachineGuid", "/reg:64");
    return /MachineGuid\s+REG_SZ\s+(\S+)/.exec(output)?.[1];
  }
  for (const path of ["/etc/machine-id", "/var/lib/dbus/machine-id"]) {
    try {
      const id = builtins.fs.readFileSync(path, "utf8").trim();
      if (id !== "") return id;
    } catch {
      // The next file may exist.
    }
  }
  return undefined;
}

function keepBrowserNonce() {
  try {
    const name = "berth-device";
    const known = localStorage.getItem(name);
    if (known !== null && /^[\w.~-]{16,128}$/.test(known)) return known;
    const nonce = makeKey() + makeKey();
    localStorage.setItem(name, nonce);
    return nonce;
  } catch {
    throw invalid("this browser keeps no localStorage for the page; give the option nonce");
  }
}

// ---------------------------------------------------------------------------------------------
// Slots: what is renewed in the background. A hold refers to its handles weakly, so that a handle
// which the program no longer uses is collected, and its slot is released

class Hold {
  state = "held";
  handles = new Set();
  features = new Map();
  inFlight = null;
  isPaused = false;
  failures = 0;
  nextAttempt = 0;
  /** When the user may have been released at the server; of a slot. */
  releasedAt = -Infinity;
  /** Whether the server refused the feature because its user has no slot. */
  isRefused = false;
  /** Whether a renewal began before the end of the slot. */
  wasTriedInTime = false;

  constructor(fields) {
    Object.assign(this, fields);
  }

  /** Takes over the reply of a successful request; the slot's end counts from its sending. */
  renew(reply, sentAt) {
    Object.assign(this, reply, { reply, sentAt });
    this.failures = 0;
    this.isRefused = false;
    this.wasTriedInTime = false;
    this.mayBeBorrowed = false;
    this.interval = jitter(this.lifetime / 3, 0.1);
  }

  /** A borrowed slot stays taken until the end of the borrow. */
  markBorrowed({ borrowedUntil }) {
    this.isBorrowed = true;
    const isLater = Date.parse(borrowedUntil) > Date.parse(this.expiresAt);
    if (isLater) this.expiresAt = borrowedUntil;
  }

  get timeLeft() {
    return this.lifetime - elapsedSince(this.sentAt);
  }

  /**
   * Whether the end has passed before a renewal could begin: the machine slept, or this process was
   * stopped. Then the slot is lost only if the renewal fails that comes first.
   */
  get isOverslept() {
    return this.timeLeft <= 0 && !this.wasTriedInTime;
  }

  get isHeld() {
    const isKept = this.timeLeft > 0 || this.isOverslept;
    return this.state === "held" && isKept && (this.slot?.isHeld ?? true);
  }

  /** Whether the slot is held without doubt, and need not be renewed before it is used. */
  get isCurrent() {
    return this.timeLeft > 0 && this.isHeld;
  }

  get mayBeReleased() {
    return this.sentAt.steady <= this.releasedAt;
  }

  /** Whether the next renewal may begin when it is due. A slot is renewed before its features. */
  get isIdle() {
    const isFree = this.state === "held" && this.inFlight === null && !this.isPaused;
    return isFree && !this.slot?.mayBeReleased;
  }

  /** Milliseconds until the next renewal is due. */
  get delay() {
    if (this.failures === 0 && this.mayBeReleased) return 0;
    if (this.failures === 0) return this.interval - elapsedSince(this.sentAt);
    return Math.min(this.nextAttempt - performance.now(), this.timeLeft);
  }

  planRetry() {
    this.failures += 1;
    const backoff = jitter(Math.min(1000 * 2 ** (this.failures - 1), 15_000), 0.25);
    this.nextAttempt = performance.now() + Math.min(backoff, this.lifetime / 6);
  }
}

/** The server compares names in this form, too. */
const isSameUser = (a, b) => a.normalize("NFC") === b.normalize("NFC");

/** Runs the tasks of one user one after the other: a release never overtakes an acquisition. */
class UserQueue {
  #last = new Map();

  async runTask(name, task, signal = null) {
    const user = name.normalize("NFC");
    const before = this.#last.get(user) ?? Promise.resolve();
    let finish;
    const end = new Promise((resolve) => {
      finish = resolve;
    });
    const last = before.then(() => end);
    this.#last.set(user, last);
    try {
      await abortable(before, signal);
      return await task();
    } finally {
      finish();
      if (this.#last.get(user) === last) void last.then(() => this.#forget(user, last));
    }
  }

  #forget(user, last) {
    if (this.#last.get(user) === last) this.#last.delete(user);
  }
}

/** True while a pair changes its leader: then the only replies are `standby`. */
function isTakeover(failures) {
  const codes = failures.map(({ code }) => code).filter((code) => code !== null);
  return codes.length > 0 && codes.every((code) => code === "standby");
}

/** Engines that hold slots, to be released when the process or the page ends. */
const activeEngines = new Set();
let hasExitHook = false;

function installExitHook() {
  if (hasExitHook) return;
  hasExitHook = true;
  if (isBrowser) {
    globalThis.addEventListener?.("pagehide", () => {
      for (const engine of activeEngines) engine.releaseByBeacon();
    });
    return;
  }
  process.on("beforeExit", () => {
    if (activeEngines.size === 0) return;
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), LAST_LIMIT);
    const limits = { limit: LAST_LIMIT, signal: controller.signal };
    const releases = [...activeEngines].map((engine) => engine.releaseAll(limits));
    void Promise.all(releases).finally(() => clearTimeout(timer));
  });
}

/** onLoss of each slot and feature: weak, since a callback often refers to its own slot. */
const lossCallbacks = new WeakMap();
const abandonedHandles = new FinalizationRegistry((handle) => handle.engine.abandon(handle));

/** Everything behind a client. Slots refer to it, and so outlive the client object itself. */
class Engine {
  isClosed = false;
  #options;
  #servers;
  #current = 0;
  #appliance = null;
  #node = null;
  #nonce = null;
  #users = new UserQueue();
  #holds = new Set();
  #abandoned = [];
  #calls = new Set();
  #waiting = new Set();
  #timer = null;
  /** @type {Promise<void> | null} */
  #closing = null;

  constructor(options) {
    this.#options = options;
    this.#servers = options.urls.map((url) => ({
      url,
      token: null,
      login: null,
      hasAnswered: false,
    }));
    if (loadBuiltinsNow() !== null) this.#node = this.#prepareNode();
  }

  #prepareNode() {
    const { ca, certificate } = this.#options;
    const tls = { rejectUnauthorized: true };
    if (ca !== null) tls.ca = readPem("ca", ca, ["CERTIFICATE"]);
    if (certificate !== null) {
      tls.cert = readPem("certificate", certificate, ["CERTIFICATE", "PRIVATE KEY"]);
      tls.key = tls.cert;
    }
    // Agents of its own: the global ones may use a proxy of the environment.
    const { http, https } = builtins;
    return { tls, httpAgent: new http.Agent(), httpsAgent: new https.Agent() };
  }

  async #prepare() {
    await loadBuiltins();
    if (!isBrowser) this.#node ??= this.#prepareNode();
  }

  /** Runs a call of the program, which close() waits for. */
  async runCall(task) {
    if (this.isClosed) throw closedError();
    const call = task();
    this.#calls.add(call);
    try {
      return await call;
    } finally {
      this.#calls.delete(call);
    }
  }

  async getNonce() {
    await this.#prepare();
    this.#nonce ??= this.#options.nonce ?? (await makeDeviceNonce());
    return this.#nonce;
  }

  // Calls ---------------------------------------------------------------------------------------

  /**
   * Calls the servers in turn until one gives a final answer. `budget` is how long to repeat in
   * milliseconds; with 0 each server is called once.
   */
  async call(request) {
    await this.#prepare();
    const { signal, budget = () => this.#options.retryFor } = request;
    const started = performance.now();
    const failures = new Map();
    const logins = new Set();
    const notBefore = new Map();
    const servers = this.#servers;
    let lastReply = null;
    let wasSent = false;
    const isBroken = (server) => failures.get(server)?.isTlsFault === true;
    const isOver = () => performance.now() - started >= budget([...failures.values()]);
    for (let pause = MIN_PAUSE, round = 0; ; round += 1, pause = Math.min(pause * 2, 5000)) {
      const first = this.#current;
      for (let step = 0; step < servers.length; step += 1) {
        const index = (first + step) % servers.length;
        const server = servers[index];
        if (round > 0 && step > 0 && isOver()) break;
        if (performance.now() < (notBefore.get(server) ?? 0) || isBroken(server)) continue;
        const timeout = request.timeout?.(servers.length - step) ?? this.#options.timeout;
        try {
          const answer = await this.#attempt(server, { ...request, timeout }, logins);
          this.#current = index;
          return answer;
        } catch (error) {
          if (error instanceof BerthError) {
            if (!signal?.aborted) this.#current = index;
            throw error;
          }
          if (signal?.aborted) throw signal.reason;
          const isFailure = error instanceof Failure;
          const failure = isFailure ? error : new Failure("gave a reply that cannot be read");
          failures.set(server, failure);
          wasSent ||= failure.wasSent;
          if (failure.code !== null) lastReply = failure;
          notBefore.set(server, performance.now() + 1000 * failure.retryAfter);
        }
      }
      const now = performance.now();
      const left = budget([...failures.values()]) - (now - started);
      const usable = servers.filter((server) => !isBroken(server));
      const earliest = Math.min(...usable.map((server) => notBefore.get(server) ?? 0)) - now;
      if (left < MIN_PAUSE || earliest > left) {
        const { key } = request;
        throw makeUnavailable(failures, { lastReply, elapsed: now - started, key, wasSent });
      }
      await sleep(Math.min(Math.max(jitter(pause, 0.25), earliest), left), signal);
    }
  }

  /** One request to one server, with a login if needed. */
  async #attempt(server, request, logins) {
    for (let count = 0; ; count += 1) {
      const token = await this.#getToken(server, request.timeout, logins);
      const authorization = token === null ? {} : { authorization: `Bearer ${token}` };
      const wait = request.wait?.(server);
      const prefer = wait === undefined ? {} : { prefer: `wait=${wait}` };
      const headers = { ...request.headers, ...authorization, ...prefer };
      const timeout = request.timeout + 1000 * (wait ?? 0);
      // A request that does not wait ends soon: its reply says whether a slot was taken.
      const signal = request.isCancellable || wait > 0 ? request.signal : null;
      const reply = await this.#exchange(server, { ...request, headers, timeout, signal });
      const isExpired = reply.status === 401 && token !== null && count < 2;
      if (isExpired && (server.token !== token || !logins.has(server))) {
        if (server.token === token) server.token = null;
        continue;
      }
      return { value: this.#judge(server, reply, request.read), reply, wait };
    }
  }

  async #getToken(server, timeout, logins) {
    if (this.#options.login === null || server.token !== null) return server.token;
    logins.add(server);
    // Calls at the same time share a login.
    server.login ??= this.#logIn(server, timeout).finally(() => {
      server.login = null;
    });
    return await server.login;
  }

  async #logIn(server, timeout) {
    const { name, password } = this.#options.login;
    const credentials = Array.from(encode(`${name}:${password}`), (byte) =>
      String.fromCharCode(byte),
    );
    const headers = { authorization: `Basic ${btoa(credentials.join(""))}` };
    try {
      const request = { method: "GET", path: "/auth", headers, timeout };
      const reply = await this.#exchange(server, request);
      server.token = this.#judge(server, reply, readToken);
      return server.token;
    } catch (error) {
      // The call that needs the login was not sent.
      if (error instanceof Failure) error.wasSent = false;
      throw error;
    }
  }

  async #exchange(
    { url },
    { method = "POST", path, body, headers, timeout, signal, isBackground },
  ) {
    const sentAt = takeTime();
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const text = body === undefined ? undefined : JSON.stringify(body);
    const length = text === undefined || isBrowser ? {} : { "content-length": encode(text).length };
    const reply = await send({
      url: url + path,
      method,
      headers: { ...type, ...length, ...headers },
      body: text,
      timeout,
      signal,
      isBackground,
      node: this.#node,
    });
    return { ...reply, sentAt };
  }

  /** The value of a final answer. Throws a BerthError for a refusal, else a Failure. */
  #judge(server, reply, read) {
    const { status } = reply;
    const requestId = reply.header("x-request-id");
    const appliance = reply.header("berth-appliance");
    const facts = { status, requestId, retryAfter: readRetryAfter(reply) };
    if (!appliance) {
      const hint = "check the address: another program answers there";
      throw new Failure(`gave a reply (${status}) that is not of Berth`, { ...facts, hint });
    }
    if (this.#appliance !== null && appliance !== this.#appliance) {
      const text = `is the appliance ${cleanText(appliance)}, not ${cleanText(this.#appliance)}`;
      throw new Failure(text, { ...facts, isOtherAppliance: true });
    }
    const isSuccess = status >= 200 && status < 300;
    const body = isSuccess ? null : readErrorBody(reply);
    const isRefusal =
      body !== null && status >= 400 && status < 500 && ![408, 429].includes(status);
    if (!isSuccess && !isRefusal) {
      if (body === null) throw new Failure(`replied ${status}`, facts);
      const said = { code: body.code, hint: "" };
      throw new Failure(`replied ${status}: ${describeReply(body)}`, { ...facts, ...said });
    }
    const value = isSuccess ? read(reply) : null;
    this.#appliance = appliance;
    server.hasAnswered = true;
    if (isRefusal) throw makeRefusal(server, reply, body, this.#options.login !== null);
    return value;
  }

  // Acquiring -----------------------------------------------------------------------------------

  #identify(user, licenseId) {
    const id = licenseId === null ? {} : { license_id: String(licenseId) };
    return { product: this.#options.product, user, ...id };
  }

  #describeUser({ user, wantedLicense, userInfo }) {
    let host = "";
    try {
      host = builtins?.os.hostname() ?? "";
    } catch {
      // Deno without the permission to read it.
    }
    const fields = { os_hostname: host, user_info: userInfo };
    return { ...this.#identify(user, wantedLicense), ...fields };
  }

  async acquire(user, options) {
    const controller = new AbortController();
    const { signal } = controller;
    const onAbort = () => controller.abort(options.signal.reason);
    if (options.signal?.aborted) throw options.signal.reason;
    options.signal?.addEventListener("abort", onAbort, { once: true });
    if (options.wait > 0) this.#waiting.add(controller);
    const task = this.#users.runTask(user, () => this.#share(user, options, signal), signal);
    // Until a cancelled acquisition has left the queue, close() waits for it.
    this.#calls.add(task);
    const finish = () => {
      this.#calls.delete(task);
      this.#waiting.delete(controller);
      options.signal?.removeEventListener("abort", onAbort);
    };
    task.then(finish, finish);
    try {
      return await abortable(task, signal);
    } catch (error) {
      // A slot that is taken although the call was cancelled has no owner.
      task.then((slot) => slot.release()).catch(() => {});
      throw error;
    }
  }

  async #share(user, options, signal) {
    const isFitting = (hold) => !hold.slot && [null, hold.licenseId].includes(options.licenseId);
    const shared = this.#holdsOf(user).find(isFitting);
    const hold = shared?.isCurrent
      ? shared
      : this.#keep(await this.#register(user, options, signal), shared);
    return this.#addHandle(hold, (handle) => new Slot(handle), options.onLoss);
  }

  /** Renews from now on what was taken. */
  #keep(hold, known) {
    if (known?.state === "held" && known.licenseId === hold.licenseId) {
      // The machine slept past the end of a slot, which was not renewed yet: it is the same one.
      known.renew(hold.reply, hold.sentAt);
      return known;
    }
    this.#startRenewal(hold);
    return hold;
  }

  #holdsOf(user) {
    return [...this.#holds].filter((hold) => isSameUser(hold.user, user));
  }

  #addHandle(hold, makeObject, onLoss) {
    const handle = { engine: this, hold, isReleased: false, release: null, object: null };
    const object = makeObject(handle);
    lossCallbacks.set(object, onLoss);
    handle.object = new WeakRef(object);
    hold.handles.add(handle);
    abandonedHandles.register(object, handle, handle);
    return object;
  }

  /** Registers the user; waits in the queue if the options say so. */
  async #register(user, options, signal) {
    const { licenseId: wantedLicense, userInfo, onWait } = options;
    const started = performance.now();
    const waitEnd = started + options.wait * 1000;
    const retryEnd = Math.max(waitEnd, started + this.#options.retryFor);
    const hold = new Hold({ user, wantedLicense, userInfo, path: "register", read: readSlot });
    let isFirst = true;
    let hasPlace = false;
    // The first request does not wait, so that the place in the queue is known at once. A server
    // that never answered may hang, and would only be noticed after the wait.
    const chooseWait = (server) =>
      isFirst || !server.hasAnswered
        ? 0
        : Math.min(Math.max(Math.ceil((waitEnd - performance.now()) / 1000), 0), MAX_WAIT_STEP);
    hold.body = () => this.#describeUser(hold);
    try {
      for (;;) {
        const sent = performance.now();
        let wait = 0;
        const request = { budget: () => retryEnd - sent, signal };
        if (options.wait > 0) request.wait = (server) => (wait = chooseWait(server));
        try {
          await this.#requestHold(hold, request);
          return hold;
        } catch (error) {
          if (!(error instanceof NoFreeSlotError) || options.wait === 0) throw error;
          const { reply, body } = refusalReplies.get(error);
          hasPlace = true;
          const { position, length } = isObject(body.queue) ? body.queue : {};
          if (isCount(position) && isCount(length)) runCallback("onWait", onWait, position, length);
          const left = waitEnd - performance.now();
          if (left <= 0) throw error;
          const isApplied = /\bwait\b/.test(reply.header("preference-applied") ?? "");
          // A request that did not wait is followed by one that does. A server which lets no more
          // requests wait answers early: that must not become a loop without a pause.
          const isEarly = wait > 0 && performance.now() - sent < wait * 1000 - 500;
          const again = isEarly ? 1000 : 0;
          const pause = isApplied ? again : 1000 * (readRetryAfter(reply) || 5);
          await sleep(Math.min(pause, left), signal);
        }
        isFirst = false;
      }
    } catch (error) {
      if (hasPlace) await this.#unregister(user, wantedLicense, { limit: LAST_LIMIT });
      throw error;
    }
  }

  async acquireFeature(slotObject, slotHandle, code, onLoss) {
    const slot = slotHandle.hold;
    const makeFeature = (handle) => new Feature(handle, slotObject);
    return await this.#users.runTask(slot.user, async () => {
      const requireSlot = () =>
        requireArgument(slot.isHeld && !slotHandle.isReleased, "the slot is not held any more");
      requireSlot();
      const known = slot.features.get(code);
      if (known?.isCurrent) return this.#addHandle(known, makeFeature, onLoss);
      const body = () => ({ ...this.#identify(slot.user, slot.licenseId), feature: code });
      const fields = { slot, user: slot.user, code, body };
      const hold = new Hold({ ...fields, path: "featureRegister", read: readFeature });
      await this.#requestHold(hold);
      // The slot may have been lost meanwhile, and with it the feature.
      requireSlot();
      const kept = this.#keep(hold, known);
      slot.features.set(code, kept);
      return this.#addHandle(kept, makeFeature, onLoss);
    });
  }

  /** Takes or renews the slot or the feature at the server. */
  async #requestHold(hold, options) {
    const { path, read } = hold;
    const request = { path: `/api/v4/${path}`, body: hold.body(), read, ...options };
    const { value, reply } = await this.call(request);
    hold.renew(value, reply.sentAt);
  }

  // Renewing ------------------------------------------------------------------------------------

  #startRenewal(hold) {
    this.#holds.add(hold);
    activeEngines.add(this);
    installExitHook();
    this.#arm();
  }

  #arm() {
    clearTimeout(this.#timer);
    if (this.#holds.size === 0) activeEngines.delete(this);
    if (this.#holds.size === 0 && this.#abandoned.length === 0) return;
    const delays = [...this.#holds].filter((hold) => hold.isIdle).map((hold) => hold.delay);
    const delay = this.#abandoned.length > 0 ? 0 : Math.min(MAX_TICK, ...delays);
    this.#timer = setTimeout(() => this.#tick(), Math.max(delay, 0));
    this.#timer.unref?.();
  }

  #tick() {
    for (const handle of this.#abandoned.splice(0)) void this.releaseHandle(handle);
    for (const hold of this.#holds) {
      if (!hold.isIdle || hold.delay > 0) continue;
      hold.inFlight = this.#renew(hold).finally(() => {
        hold.inFlight = null;
        this.#arm();
      });
    }
    this.#arm();
  }

  async #renew(hold) {
    // At its end a slot is tried once more. Unless it was overslept, the loss must not be reported
    // late, so a server has one second to answer.
    const { timeout } = this.#options;
    const { isOverslept } = hold;
    hold.wasTriedInTime ||= hold.timeLeft > 0;
    const limit = (count) =>
      isOverslept ? timeout : Math.min(timeout, Math.max(hold.timeLeft / count, 1000));
    try {
      await this.#requestHold(hold, { budget: () => 0, timeout: limit, isBackground: true });
    } catch (error) {
      // A 400 of a proxy or of another appliance says nothing about the slot.
      const isAnswer = error instanceof NoFreeSlotError || error instanceof RefusedError;
      const isRefused = error.status === 400 && isAnswer;
      const isUnknown = isRefused && error.code === "user_not_registered";
      if (isUnknown && hold.slot && !hold.isRefused) {
        // The user was released, perhaps during a sleep. The slot may still be free.
        hold.isRefused = true;
        hold.slot.releasedAt = performance.now();
      } else if (isRefused || hold.timeLeft <= 0) this.#lose(hold, error);
      else hold.planRetry();
    }
  }

  #lose(hold, error) {
    if (hold.state !== "held") return;
    this.#end(hold);
    const { user, code } = hold;
    const name = hold.slot ? `the feature ${code} of ${user}` : `the slot of ${user}`;
    // Of the same class, with the same fields.
    const loss = new error.constructor(`${name} is lost: ${error.message}`, error);
    for (const handle of hold.handles) {
      const object = handle.object.deref();
      if (!object || handle.isReleased) continue;
      runCallback("onLoss", lossCallbacks.get(object), object, loss);
    }
  }

  /** Ends the renewal of a slot and of its features. */
  #end(hold) {
    hold.state = "ended";
    this.#holds.delete(hold);
    hold.slot?.features.delete(hold.code);
    for (const feature of hold.features.values()) this.#end(feature);
    this.#arm();
  }

  /** Runs a task for a user while no renewal of the user's slots is in flight. */
  async #runQuietly(user, task) {
    return await this.#users.runTask(user, async () => {
      const holds = this.#holdsOf(user);
      for (const hold of holds) hold.isPaused = true;
      try {
        for (const hold of holds) await awaitInForeground(hold.inFlight);
        return await task(holds);
      } finally {
        for (const hold of holds) hold.isPaused = false;
        this.#arm();
      }
    });
  }

  // Releasing -----------------------------------------------------------------------------------

  /** Called by the garbage collector, which must not wait for anything. */
  abandon(handle) {
    this.#abandoned.push(handle);
    this.#arm();
  }

  /** True if nothing is left to release, or the server confirmed it. Never throws. */
  releaseHandle(handle) {
    handle.isReleased = true;
    handle.release ??= this.#dropHandle(handle);
    return handle.release;
  }

  async #dropHandle(handle) {
    const { hold } = handle;
    abandonedHandles.unregister(handle);
    // Nothing is left to release, also while another call of the user waits for a slot.
    if (hold.state === "ended") return true;
    const task = this.#users.runTask(hold.user, () => {
      hold.handles.delete(handle);
      return hold.handles.size > 0 ? true : this.#release(hold);
    });
    this.#calls.add(task);
    return await task.finally(() => this.#calls.delete(task));
  }

  async #release(hold, limits = {}) {
    if (hold.state !== "held") return true;
    const { user, licenseId, slot } = hold;
    hold.state = "releasing";
    const features = [...hold.features.values()];
    for (const feature of features) this.#end(feature);
    const requests = [hold, ...features].map(({ inFlight }) => inFlight);
    await awaitInForeground(abortable(Promise.all(requests), limits.signal)).catch(() => {});
    this.#end(hold);
    if (slot) return await this.#releaseFeature(hold, limits);
    const { isBorrowed, mayBeBorrowed } = hold;
    if (!isBorrowed && !mayBeBorrowed) return await this.#unregister(user, licenseId, limits);
    // A borrow survives the program; release(user) returns it. The features are not borrowed.
    await Promise.all(features.map((feature) => this.#releaseFeature(feature, limits)));
    return isBorrowed;
  }

  #releaseFeature(feature, limits) {
    const request = { path: "/api/v4/featureRelease", body: feature.body() };
    return this.#callRelease(request, limits);
  }

  #unregister(user, licenseId, limits) {
    const request = { path: "/api/v4/unregister", body: this.#identify(user, licenseId) };
    return this.#callRelease(request, limits);
  }

  async #callRelease(request, { limit = RELEASE_LIMIT, signal }) {
    const longest = limit === RELEASE_LIMIT ? RELEASE_LIMIT_STANDBY : limit;
    try {
      await this.call({
        ...request,
        read: readWord,
        signal,
        isCancellable: true,
        budget: (failures) => (isTakeover(failures) ? longest : limit),
        timeout: () => Math.min(this.#options.timeout, limit),
      });
      return true;
    } catch (error) {
      return error?.code === "user_not_registered";
    }
  }

  async releaseUser(user) {
    await this.#runQuietly(user, async (holds) => {
      try {
        const body = this.#identify(user, null);
        await this.call({ path: "/api/v4/unregister", body, read: readWord });
      } catch (error) {
        if (error?.code !== "user_not_registered") throw error;
      }
      for (const hold of holds) this.#end(hold);
    });
  }

  async releaseAll(limits) {
    const slots = [...this.#holds].filter((hold) => !hold.slot);
    const release = (hold) => this.#users.runTask(hold.user, () => this.#release(hold, limits));
    await Promise.all(slots.map(release));
  }

  /** The page is being left: nothing can be awaited, but the browser finishes the requests. */
  releaseByBeacon() {
    for (const hold of this.#holds) {
      if (hold.slot || hold.isBorrowed || hold.mayBeBorrowed) continue;
      const { url, token } = this.#servers[this.#current];
      const authorization = token === null ? {} : { authorization: `Bearer ${token}` };
      const headers = { "content-type": "application/json", ...authorization };
      const body = JSON.stringify(this.#identify(hold.user, hold.licenseId));
      const options = { method: "POST", headers, body, keepalive: true, credentials: "omit" };
      fetch(`${url}/api/v4/unregister`, options).catch(() => {});
      // If the browser keeps the page and shows it again, the slot is taken again at once.
      hold.interval = 0;
    }
  }

  async close() {
    this.isClosed = true;
    this.#closing ??= this.#finish();
    await this.#closing;
  }

  async #finish() {
    for (const controller of this.#waiting) controller.abort(closedError());
    while (this.#calls.size > 0) await Promise.allSettled(this.#calls);
    await this.releaseAll();
    clearTimeout(this.#timer);
  }

  // Borrowing and counting ----------------------------------------------------------------------

  async borrow(user, { until, licenseId, key }) {
    const nonce = await this.getNonce();
    const borrowKey = key ?? makeKey();
    const described = this.#describeUser({ user, wantedLicense: licenseId, userInfo: "" });
    return await this.#runQuietly(user, async (holds) => {
      // Until a reply says otherwise: a release would return a borrow whose reply was lost.
      const setDoubt = (value) => holds.forEach((hold) => (hold.mayBeBorrowed = value));
      setDoubt(true);
      const { value } = await this.call({
        path: "/api/v4/borrow",
        body: { ...described, borrowed_until: until },
        headers: { "x-nonce": nonce, "idempotency-key": borrowKey },
        read: readBorrow,
        key: borrowKey,
      }).catch((error) => {
        setDoubt(error instanceof UnavailableError || error instanceof TlsFailedError);
        throw error;
      });
      setDoubt(false);
      for (const hold of holds) if (hold.licenseId === value.licenseId) hold.markBorrowed(value);
      const query = new URLSearchParams(this.#identify(user, value.licenseId));
      query.delete("user");
      const { value: license } = await this.call({
        method: "GET",
        path: `/api/v4/license?${query}`,
        headers: { accept: "application/jwt" },
        read: readLicenseText,
        key: borrowKey,
      });
      return { user, ...value, license };
    });
  }

  async consume(n, { feature, user, key, licenseId, maxOverages, allowOverages }) {
    await this.#prepare();
    const countKey = key ?? makeKey();
    const { product, license_id } = this.#identify(null, licenseId);
    const body = { product, license_id, consumptions: String(n) };
    if (feature !== null) body.feature = feature;
    if (user !== null) body.user = user;
    if (maxOverages !== null) body.max_overages = String(maxOverages);
    if (allowOverages !== null) body.allow_overages = allowOverages;
    const { value } = await this.call({
      path: feature === null ? "/api/v4/add_consumption" : "/api/v4/add_feature_consumption",
      body,
      headers: { "idempotency-key": countKey },
      read: readConsumption,
      key: countKey,
    });
    return { ...value, key: countKey };
  }

  async verify(lease, license) {
    const { rootKeys, retired, product } = this.#options;
    requireArgument(rootKeys.length > 0, "rootKeys: a lease check needs the vendor's root key");
    const nonce = await this.getNonce();
    return await checkLease(lease, license, { rootKeys, retired, product, nonce });
  }
}

// ---------------------------------------------------------------------------------------------
// Options and arguments

function readPem(option, value, parts) {
  let text = value;
  if (!value.includes("-----BEGIN ")) {
    try {
      text = builtins.fs.readFileSync(value, "utf8");
    } catch (error) {
      throw invalid(`${option}: the file ${value} cannot be read: ${error.code ?? error.message}`);
    }
  }
  const missing = parts.find((part) => !new RegExp(`-----BEGIN [A-Z ]*${part}-----`).test(text));
  const name = text === value ? "the text" : `the file ${value}`;
  if (missing) throw invalid(`${option}: ${name} has no ${missing} in PEM`);
  try {
    // Node.js ignores a certificate that it cannot read. Then every server would be refused.
    const [first] = /-----BEGIN [A-Z0-9 ]*CERTIFICATE-----[^]*?-----END [^\n]*/.exec(text) ?? [];
    void new builtins.crypto.X509Certificate(first);
    const isPair = parts.includes("PRIVATE KEY");
    builtins.tls.createSecureContext(isPair ? { cert: text, key: text } : { ca: text });
  } catch (error) {
    throw invalid(`${option}: ${name} cannot be used: ${error.message}`);
  }
  return text;
}

function readUrl(text) {
  const value = typeof text === "string" ? text.trim() : text;
  requireArgument(isText(value), "urls: every address must be a text that is not empty");
  let url;
  try {
    url = new URL(value);
  } catch {
    throw invalid("urls: every server needs an address such as http://license-server:8080");
  }
  const name = `${url.protocol}//${url.host}`;
  // The parser would take the path of http:///path for a host.
  if (!/^https?:\/\/[^/\\]/i.test(value)) {
    throw invalid(`urls: ${name} must begin with http:// or https://, and have a host`);
  }
  if (url.username !== "" || url.password !== "") {
    throw invalid(`urls: ${name} must have no user name and password; use the option login`);
  }
  if (value.includes("?") || value.includes("#")) throw invalid(`urls: ${name} must have no query`);
  if (url.pathname.includes("/api/v4")) {
    throw invalid(`urls: ${name}: give the address without /api/v4`);
  }
  if (isBrowser && url.origin !== globalThis.location?.origin) {
    throw invalid(`urls: a web page can only call the server that it came from, and not ${name}`);
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

function requireArgument(isValid, message) {
  if (!isValid) throw invalid(message);
}

/** Whether what is sent to the server leaves this machine without encryption. */
function isUnencrypted(address) {
  const { protocol, hostname } = new URL(address);
  return protocol === "http:" && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

const isSeconds = (value) => typeof value === "number" && value >= 0 && Number.isFinite(value);

function readClientOptions(urls, product, options) {
  const { ca, certificate, login, allowPlainPassword, timeout, nonce } = options;
  const list = typeof urls === "string" ? urls.split(",") : urls;
  requireArgument(Array.isArray(list) && list.length > 0, "urls: give at least one server");
  const addresses = [...new Set(list.map(readUrl))];
  const retryFor = options.retryFor ?? (addresses.length > 1 ? 30 : 10);
  requireArgument(isText(product), "product: give the code of the product");
  requireArgument(isSeconds(timeout) && timeout > 0, "timeout: give seconds, more than 0");
  requireArgument(isSeconds(retryFor), "retryFor: give seconds, 0 or more");
  const isNonce = nonce === null || (isText(nonce) && /^[\w.~-]{16,128}$/.test(nonce));
  requireArgument(isNonce, "nonce: give 16 to 128 letters, digits, or . _ ~ -");
  for (const [name, value] of Object.entries({ ca, certificate })) {
    requireArgument(value === null || isText(value), `${name}: give a path or PEM text`);
    const reason = "a browser uses its own certificates";
    requireArgument(value === null || !isBrowser, `${name}: ${reason}; leave it out`);
  }
  const isLogin =
    isObject(login) && isText(login.name) && isText(login.password) && !login.name.includes(":");
  const form = "{ name, password }, and no colon in the name";
  requireArgument(login === null || isLogin, `login: give ${form}`);
  requireArgument(
    typeof allowPlainPassword === "boolean",
    "allowPlainPassword: give true or false",
  );
  const plain = addresses.find((address) => login !== null && isUnencrypted(address));
  const help = "use its https:// address, or the option allowPlainPassword";
  requireArgument(
    plain === undefined || allowPlainPassword,
    `login: the password would be sent without encryption to ${plain}; ${help}`,
  );
  const rootKeys = readKeys("rootKeys", options.rootKeys);
  const retired = readKeys("retired", options.retired);
  const times = { timeout: timeout * 1000, retryFor: retryFor * 1000 };
  return { urls: addresses, product, ca, certificate, login, nonce, rootKeys, retired, ...times };
}

function readKeys(name, given) {
  const keys = typeof given === "string" ? [given] : given;
  requireArgument(Array.isArray(keys), `${name}: give a key, or a list of keys`);
  return keys.map((key) => {
    const bytes = readKey(key);
    requireArgument(bytes, `${name}: a key is a JWK of Ed25519, or its x of 43 characters`);
    return bytes;
  });
}

/** False for a Date, a Map and other instances of classes. */
function isPlainObject(value) {
  if (!isObject(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  // Not compared with Object.prototype: an object of another window has another one.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Options without undefined members. One that a call does not know is an error of the program. */
function readOptions(options, defaults) {
  requireArgument(isPlainObject(options), "the options must be an object such as { name: value }");
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(defaults, name));
  requireArgument(unknown === undefined, `unknown option: ${unknown}`);
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(entries) };
}

function checkCommon({ licenseId = null, key = null, onLoss = null, onWait = null }) {
  requireArgument(licenseId === null || isCount(licenseId), "licenseId: give a whole number");
  const isKey = key === null || (isText(key) && /^[\x21-\x7e]{1,64}$/.test(key));
  requireArgument(isKey, "key: give 1 to 64 visible ASCII characters");
  for (const callback of [onLoss, onWait]) {
    const isCallback = callback === null || typeof callback === "function";
    requireArgument(isCallback, "onLoss and onWait must be functions");
  }
}

const requireUser = (user) => requireArgument(isText(user), "user: give the name of the user");

const CLIENT_DEFAULTS = {
  ca: null,
  certificate: null,
  login: null,
  allowPlainPassword: false,
  timeout: 15,
  retryFor: null,
  nonce: null,
  rootKeys: [],
  retired: [],
};

// ---------------------------------------------------------------------------------------------
// Public classes

// Node.js 18 does not know it; compilers use the same fallback.
const asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

export class Client {
  #engine;

  constructor(urls, product, options = {}) {
    const known = readOptions(options, CLIENT_DEFAULTS);
    this.#engine = new Engine(readClientOptions(urls, product, known));
  }

  async acquire(user, options = {}) {
    const defaults = { wait: 0, licenseId: null, userInfo: "", onLoss: null, onWait: null };
    const known = readOptions(options, { ...defaults, signal: null });
    requireUser(user);
    checkCommon(known);
    requireArgument(isSeconds(known.wait), "wait: give seconds, 0 or more");
    requireArgument(typeof known.userInfo === "string", "userInfo: give a text");
    return await this.#engine.runCall(() => this.#engine.acquire(user, known));
  }

  async borrow(user, options = {}) {
    const isEnd = typeof options === "string" || options instanceof Date;
    requireArgument(!isEnd, "the end of a borrow is an option: use { until }");
    const known = readOptions(options, { until: null, licenseId: null, key: null });
    requireUser(user);
    checkCommon(known);
    const { until } = known;
    const isDate = until instanceof Date && !Number.isNaN(until.getTime());
    // Only the server knows which times it accepts. Without one it would take the longest borrow.
    const form = "as a Date, or a time such as 2026-11-23T18:00:00+01:00";
    requireArgument(isDate || isText(until), `until: give the end of the borrow, ${form}`);
    known.until = isDate ? until.toISOString() : until;
    return await this.#engine.runCall(() => this.#engine.borrow(user, known));
  }

  async release(user) {
    requireUser(user);
    await this.#engine.runCall(() => this.#engine.releaseUser(user));
  }

  async consume(n = 1, options = {}) {
    const defaults = { feature: null, user: null, key: null, licenseId: null };
    const known = readOptions(options, { ...defaults, maxOverages: null, allowOverages: null });
    requireArgument(Number.isSafeInteger(n), "n: give a whole number");
    checkCommon(known);
    const { feature, user, maxOverages, allowOverages } = known;
    for (const [name, value] of Object.entries({ feature, user })) {
      requireArgument(value === null || isText(value), `${name}: give a text that is not empty`);
    }
    const isOverages = maxOverages === null || Number.isSafeInteger(maxOverages);
    requireArgument(isOverages, "maxOverages: give a whole number");
    const isAllowed = allowOverages === null || typeof allowOverages === "boolean";
    requireArgument(isAllowed, "allowOverages: give true or false");
    return await this.#engine.runCall(() => this.#engine.consume(n, known));
  }

  async verify(lease, license) {
    requireArgument(typeof lease === "string", "lease: give the text that borrow returned");
    requireArgument(typeof license === "string", "license: give the text that borrow returned");
    return await this.#engine.runCall(() => this.#engine.verify(lease, license));
  }

  async nonce() {
    return await this.#engine.runCall(() => this.#engine.getNonce());
  }

  async close() {
    await this.#engine.close();
  }

  async [asyncDispose]() {
    await this.close();
  }
}

export class Slot {
  #handle;

  constructor(handle) {
    this.#handle = handle;
  }

  get user() {
    return this.#handle.hold.user;
  }

  get licenseId() {
    return this.#handle.hold.licenseId;
  }

  get registeredAt() {
    return this.#handle.hold.registeredAt;
  }

  get expiresAt() {
    return this.#handle.hold.expiresAt;
  }

  get isHeld() {
    return !this.#handle.isReleased && this.#handle.hold.isHeld;
  }

  get isBorrowed() {
    return this.#handle.hold.isBorrowed;
  }

  get license() {
    return this.#handle.hold.license;
  }

  async acquireFeature(code, options = {}) {
    const { onLoss } = readOptions(options, { onLoss: null });
    requireArgument(isText(code), "code: give the code of the feature");
    checkCommon({ onLoss });
    const { engine } = this.#handle;
    return await engine.runCall(() => engine.acquireFeature(this, this.#handle, code, onLoss));
  }

  async release() {
    return await this.#handle.engine.releaseHandle(this.#handle);
  }

  async [asyncDispose]() {
    await this.release();
  }
}

export class Feature {
  #handle;
  #slot;

  /** Refers to the slot, which must not be collected and released while the feature is used. */
  constructor(handle, slot) {
    this.#handle = handle;
    this.#slot = slot;
  }

  get code() {
    return this.#handle.hold.code;
  }

  get isHeld() {
    return !this.#handle.isReleased && this.#slot.isHeld && this.#handle.hold.isHeld;
  }

  async release() {
    return await this.#handle.engine.releaseHandle(this.#handle);
  }

  async [asyncDispose]() {
    await this.release();
  }
}
