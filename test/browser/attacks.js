// Runs inside a page that is not Berth's: every technique such a page has to make the browser send
// a request. Requests are `{ method, url, query, fields, text }`. A technique sends all requests it
// can and returns every text it could read of the answers; under the rules of browsers it reads
// none.

const getUrls = (requests) => requests.map(({ url, query }) => `${url}?${query}`);
const postRequests = (requests) => requests.filter(({ method }) => method === "POST");
/** GET requests that change something, and the login: for techniques that need a frame for each. */
const fewRequests = (requests) =>
  requests.filter(({ method, url, query }) => method === "GET" && (query || url.endsWith("/auth")));

/** Multiplies every time limit. */
let timeFactor = 1;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms * timeFactor));
const TIMEOUT = 800;
const FRAME_TIMEOUT = 4000;

function addElement(tag, attributes = {}, parent = document.body) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  parent.append(element);
  return element;
}

const waitForEvent = (target, ...events) =>
  Promise.race([
    sleep(target instanceof HTMLIFrameElement ? FRAME_TIMEOUT : TIMEOUT),
    ...events.map((name) => new Promise((resolve) => target.addEventListener(name, resolve))),
  ]);

/** Handles all items at once, and returns the texts that are not empty. */
const collectTexts = async (items, readText) =>
  (await Promise.all(items.map(async (item) => readText(item).catch(() => "")))).filter(Boolean);

/** An element that loads a URL by itself. */
const byElement =
  (tag, attribute, more = {}) =>
  (requests) =>
    collectTexts(getUrls(requests), async (url) => {
      const element = addElement(tag, { ...more, [attribute]: url });
      await waitForEvent(element, "load", "error", "loadedmetadata");
      return element.contentDocument?.body?.innerText ?? element.sheet?.cssRules[0]?.cssText ?? "";
    });

/** Submits a form into a new frame, or into the window named by `target`. */
async function submit(action, method, enctype, fields, target) {
  const name = `frame-${Math.random()}`;
  const frame = target === undefined ? addElement("iframe", { name }) : null;
  const form = addElement("form", { action, method, enctype, target: target ?? name });
  for (const [key, value] of Object.entries(fields)) {
    addElement("input", { type: "hidden", name: key, value }, form);
  }
  // A new frame fires a load event for its empty page first.
  await sleep(0);
  form.submit();
  if (frame === null) return "";
  await waitForEvent(frame, "load");
  return frame.contentDocument?.body?.innerText ?? "";
}

const byForm =
  (enctype, transform = (fields) => fields, toUrl = (url) => url) =>
  (requests) =>
    collectTexts(postRequests(requests), ({ url, fields }) =>
      submit(toUrl(url), "post", enctype, transform(fields)),
    );

/** A text/plain form whose body is JSON: the equals sign of the form is inside a string. */
const jsonInText = (fields) => {
  const [start, end] = JSON.stringify({ ...fields, padding: "=" }).split(/=(?="}$)/);
  return { [start]: end };
};

const textOf = async (answer) => (answer.type === "opaque" ? "" : answer.text());

const fetchGet = (options) => (requests) =>
  collectTexts(getUrls(requests), async (url) => textOf(await fetch(url, options)));

const fetchPost =
  (options, toUrl = (url) => url) =>
  (requests) =>
    collectTexts(postRequests(requests), async ({ url, text }) =>
      textOf(await fetch(toUrl(url), { method: "POST", body: text, ...options })),
    );

const byXhr = (method, url, type, body) =>
  new Promise((resolve) => {
    const xhr = new XMLHttpRequest();
    xhr.addEventListener("loadend", () => resolve(xhr.responseText));
    xhr.open(method, url);
    if (type !== undefined) xhr.setRequestHeader("content-type", type);
    xhr.send(body);
  });

const byBeacon = (bodyOf) => async (requests) => {
  for (const { url, fields, text } of postRequests(requests))
    navigator.sendBeacon(url, bodyOf({ fields, text }));
  return [];
};

const formData = ({ fields }) => {
  const data = new FormData();
  for (const [key, value] of Object.entries(fields)) data.append(key, value);
  return data;
};

const blob =
  (type) =>
  ({ text }) =>
    new Blob([text], { type });

const openWindows = async (targets, openWindow) => {
  const windows = targets.map((target) => openWindow(target));
  await sleep(400);
  for (const opened of windows) opened?.close();
  return [];
};

const byStyle = (ruleOf) => async (requests) => {
  const rules = getUrls(requests).map((url, index) => ruleOf(url, index));
  addElement("style").textContent = rules.join("\n");
  for (const [index] of rules.entries()) addElement("p", { id: `p${index}` }).textContent = "a";
  await sleep(400);
  return [];
};

const bySpeculation = (kind) => async (requests) => {
  const rules = { [kind]: [{ urls: getUrls(fewRequests(requests)), eagerness: "immediate" }] };
  addElement("script", { type: "speculationrules" }).textContent = JSON.stringify(rules);
  await sleep(300);
  return [];
};

const inWorker = (code) => (requests) =>
  collectTexts([0], async () => {
    const source = `onmessage = async ({ data }) => { ${code}; postMessage("done"); }`;
    const worker = new Worker(URL.createObjectURL(new Blob([source])));
    worker.postMessage(requests, []);
    await waitForEvent(worker, "message", "error");
    worker.terminate();
    return "";
  });

const SEND_ALL = `await Promise.all(data.map(({ method, url, query, text }) => method === "POST"
  ? fetch(url, { method, mode: "no-cors", body: text }).catch(() => {})
  : fetch(url + "?" + query, { mode: "no-cors" }).catch(() => {})))`;

async function serviceWorker(requests) {
  if (navigator.serviceWorker === undefined || location.origin === "null") return [];
  const registration = await navigator.serviceWorker.register("/worker.js").catch(() => null);
  if (registration === null) return [];
  await navigator.serviceWorker.ready;
  registration.active.postMessage(requests, []);
  await waitForEvent(navigator.serviceWorker, "message");
  await registration.unregister();
  return [];
}

const byStream = (open) => (requests) =>
  collectTexts(getUrls(requests), async (url) => {
    const source = open(url);
    let received = "";
    source.addEventListener("message", ({ data }) => (received += data));
    await waitForEvent(source, "open", "error");
    source.close();
    return received;
  });

/** A URL of the attacker's server that redirects to the given one. */
const redirectUrl = (home, status) => (url) =>
  `${home}/away?status=${status}&to=${encodeURIComponent(url)}`;
const redirected = (requests, home) =>
  requests.map(({ url, query }) => {
    const [redirect, target] = redirectUrl(home, 302)(`${url}?${query}`).split("?");
    return { url: redirect, query: target };
  });

const NO_CORS = { mode: "no-cors", credentials: "include" };
const JSON_TYPE = { "content-type": "application/json" };
const TEXT_TYPE = { "content-type": "text/plain" };

globalThis.attacks = {
  img: byElement("img", "src"),
  script: byElement("script", "src"),
  "script type=module": byElement("script", "src", { type: "module" }),
  "link rel=stylesheet": byElement("link", "href", { rel: "stylesheet" }),
  "link rel=preload": byElement("link", "href", { rel: "preload", as: "image" }),
  "link rel=prefetch": byElement("link", "href", { rel: "prefetch" }),
  iframe: (requests) => byElement("iframe", "src")(fewRequests(requests)),
  object: (requests) => byElement("object", "data")(fewRequests(requests)),
  embed: (requests) => byElement("embed", "src")(fewRequests(requests)),
  video: byElement("video", "src"),
  audio: byElement("audio", "src"),
  "input type=image": byElement("input", "src", { type: "image" }),
  "CSS url()": byStyle((url, index) => `#p${index} { background: url("${url}") }`),
  "CSS @import": byStyle((url) => `@import "${url}";`),
  "CSS font": byStyle(
    (url, index) => `@font-face { font-family: f${index}; src: url("${url}") }
    #p${index} { font-family: f${index} }`,
  ),
  EventSource: byStream((url) => new EventSource(url)),
  WebSocket: byStream((url) => new WebSocket(url.replace("http", "ws"))),
  "prefetch rule": bySpeculation("prefetch"),
  "prerender rule": bySpeculation("prerender"),
  "a ping": async (requests) => {
    for (const { url } of postRequests(requests)) {
      const link = addElement("a", { href: "#there", ping: url });
      link.click();
    }
    return [];
  },
  "form GET": (requests) =>
    collectTexts(fewRequests(requests), ({ url, fields }) => submit(url, "get", "", fields)),
  "form POST urlencoded": byForm("application/x-www-form-urlencoded"),
  "form POST multipart": byForm("multipart/form-data"),
  "form POST text/plain": byForm("text/plain"),
  "form POST text/plain with JSON in it": byForm("text/plain", jsonInText),
  "form POST with an unknown enctype": byForm("application/json", jsonInText),
  "form POST in a new window": (requests) =>
    openWindows(postRequests(requests).slice(0, 6), ({ url, fields }) => {
      const name = `window-${Math.random()}`;
      const opened = window.open("about:blank", name);
      void submit(url, "post", "text/plain", jsonInText(fields), name);
      return opened;
    }),
  "fetch GET no-cors": fetchGet(NO_CORS),
  "fetch GET no-cors, Accept JSON": fetchGet({
    ...NO_CORS,
    headers: { accept: "application/json" },
  }),
  "fetch GET cors": fetchGet({ mode: "cors", credentials: "include" }),
  "fetch GET same-origin": fetchGet({ mode: "same-origin" }),
  "fetch GET as another program": fetchGet({
    headers: { "user-agent": "curl/8.0", "accept-language": "" },
  }),
  "fetch GET keepalive": fetchGet({ ...NO_CORS, keepalive: true }),
  "fetch POST no-cors text": fetchPost({ ...NO_CORS, headers: TEXT_TYPE }),
  "fetch POST no-cors JSON": fetchPost({ ...NO_CORS, headers: JSON_TYPE }),
  "fetch POST no-cors without a type": (requests) =>
    collectTexts(postRequests(requests), async (request) =>
      textOf(await fetch(request.url, { ...NO_CORS, method: "POST", body: blob("")(request) })),
    ),
  "fetch POST no-cors form": (requests) =>
    collectTexts(postRequests(requests), async (request) =>
      textOf(await fetch(request.url, { ...NO_CORS, method: "POST", body: formData(request) })),
    ),
  "fetch POST no-cors empty": fetchPost({ ...NO_CORS, body: null }),
  "fetch POST cors text": fetchPost({ headers: TEXT_TYPE }),
  "fetch POST cors JSON": fetchPost({ headers: JSON_TYPE }),
  "fetch POST same-origin JSON": fetchPost({ mode: "same-origin", headers: JSON_TYPE }),
  "fetch POST keepalive": fetchPost({ ...NO_CORS, headers: TEXT_TYPE, keepalive: true }),
  "XHR GET": (requests) => collectTexts(getUrls(requests), (url) => byXhr("GET", url)),
  "XHR POST text": (requests) =>
    collectTexts(postRequests(requests), ({ url, text }) => byXhr("POST", url, "text/plain", text)),
  "XHR POST JSON": (requests) =>
    collectTexts(postRequests(requests), ({ url, text }) =>
      byXhr("POST", url, "application/json", text),
    ),
  "sendBeacon text": byBeacon(({ text }) => text),
  "sendBeacon form": byBeacon(formData),
  "sendBeacon JSON": byBeacon(blob("application/json")),
  worker: inWorker(SEND_ALL),
  "worker importScripts": inWorker(
    `for (const { url, query } of data) try { importScripts(url + "?" + query) } catch {}`,
  ),
  "service worker": serviceWorker,
  "window.open": (requests) =>
    openWindows(getUrls(fewRequests(requests)), (url) => window.open(url)),
  "window.open noreferrer": (requests) =>
    openWindows(getUrls(fewRequests(requests)), (url) => window.open(url, "_blank", "noreferrer")),
  "location of a new window": (requests) =>
    openWindows(getUrls(fewRequests(requests)), (url) => {
      const opened = window.open("about:blank");
      if (opened !== null) opened.location = url;
      return opened;
    }),
  "meta refresh": (requests) =>
    collectTexts(getUrls(fewRequests(requests)), async (url) => {
      const refresh = `<meta http-equiv="refresh" content="0;url=${url.replaceAll("&", "&amp;")}">`;
      const frame = addElement("iframe", { srcdoc: refresh });
      await waitForEvent(frame, "load");
      await sleep(TIMEOUT);
      return "";
    }),
  "img redirected": (requests, home) => byElement("img", "src")(redirected(requests, home)),
  "iframe redirected": (requests, home) =>
    byElement("iframe", "src")(redirected(fewRequests(requests), home)),
  "form POST redirected with 307": (requests, home) =>
    byForm("text/plain", jsonInText, redirectUrl(home, 307))(requests),
  "fetch POST redirected with 307": (requests, home) =>
    fetchPost({ ...NO_CORS, headers: TEXT_TYPE }, redirectUrl(home, 307))(requests),
};

globalThis.sendAttack = async (technique, requests, home, factor) => {
  timeFactor = factor;
  const texts = await globalThis.attacks[technique](requests, home);
  document.body.replaceChildren();
  return texts;
};
