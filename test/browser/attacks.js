// Runs inside a page that is not Berth's: every way such a page has to make the browser send
// something. A shot is `{ method, url, query, fields, text }`. A way sends all shots it can and hands back
// every text it could read of the answers; a page that keeps to the rules of browsers reads none.

const gets = (shots) => shots.map(({ url, query }) => `${url}?${query}`);
const posts = (shots) => shots.filter(({ method }) => method === "POST");
/** Acts by GET and the login, for ways that need a frame or a window for each. */
const few = (shots) =>
  shots.filter(({ method, url, query }) => method === "GET" && (query || url.endsWith("/auth")));

/** How many times as long as usual everything is given. */
let pace = 1;
const soon = (ms) => new Promise((done) => setTimeout(done, ms * pace));
const PATIENCE = 800;
const FRAME_PATIENCE = 4000;

function make(tag, attributes = {}, parent = document.body) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  parent.append(element);
  return element;
}

const settled = (target, ...events) =>
  Promise.race([
    soon(target instanceof HTMLIFrameElement ? FRAME_PATIENCE : PATIENCE),
    ...events.map((name) => new Promise((done) => target.addEventListener(name, done))),
  ]);

const all = async (list, each) =>
  (await Promise.all(list.map(async (one) => each(one).catch(() => "")))).filter(Boolean);

/** An element that loads something by itself. */
const element =
  (tag, attribute, more = {}) =>
  (shots) =>
    all(gets(shots), async (url) => {
      const made = make(tag, { ...more, [attribute]: url });
      await settled(made, "load", "error", "loadedmetadata");
      return made.contentDocument?.body?.innerText ?? made.sheet?.cssRules[0]?.cssText ?? "";
    });

/** Sends a form into a frame of its own. */
async function submit(action, method, enctype, fields, target) {
  const name = `frame-${Math.random()}`;
  const frame = target === undefined ? make("iframe", { name }) : null;
  const form = make("form", { action, method, enctype, target: target ?? name });
  for (const [key, value] of Object.entries(fields)) {
    make("input", { type: "hidden", name: key, value }, form);
  }
  // A new frame says that it loaded its empty page first.
  await soon(0);
  form.submit();
  if (frame === null) return "";
  await settled(frame, "load");
  return frame.contentDocument?.body?.innerText ?? "";
}

const form =
  (enctype, shape = (fields) => fields, to = (url) => url) =>
  (shots) =>
    all(posts(shots), ({ url, fields }) => submit(to(url), "post", enctype, shape(fields)));

/** A text/plain form whose body is JSON: the equals sign of the form ends up inside a string. */
const jsonInText = (fields) => {
  const [start, end] = JSON.stringify({ ...fields, padding: "=" }).split(/=(?="}$)/);
  return { [start]: end };
};

const textOf = async (answer) => (answer.type === "opaque" ? "" : answer.text());

const fetchGet = (options) => (shots) =>
  all(gets(shots), async (url) => textOf(await fetch(url, options)));

const fetchPost =
  (options, to = (url) => url) =>
  (shots) =>
    all(posts(shots), async ({ url, text }) =>
      textOf(await fetch(to(url), { method: "POST", body: text, ...options })),
    );

const request = (method, url, type, body) =>
  new Promise((done) => {
    const xhr = new XMLHttpRequest();
    xhr.addEventListener("loadend", () => done(xhr.responseText));
    xhr.open(method, url);
    if (type !== undefined) xhr.setRequestHeader("content-type", type);
    xhr.send(body);
  });

const beacon = (bodyOf) => async (shots) => {
  for (const { url, fields, text } of posts(shots))
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

const openWindows = async (urls, lead) => {
  const windows = urls.map((url) => lead(url));
  await soon(400);
  for (const one of windows) one?.close();
  return [];
};

const style = (ruleOf) => async (shots) => {
  const rules = gets(shots).map((url, index) => ruleOf(url, index));
  make("style").textContent = rules.join("\n");
  for (const [index] of rules.entries()) make("p", { id: `p${index}` }).textContent = "a";
  await soon(400);
  return [];
};

const speculate = (kind) => async (shots) => {
  const rules = { [kind]: [{ urls: gets(few(shots)), eagerness: "immediate" }] };
  make("script", { type: "speculationrules" }).textContent = JSON.stringify(rules);
  await soon(300);
  return [];
};

const inWorker = (code) => (shots) =>
  all([0], async () => {
    const source = `onmessage = async ({ data }) => { ${code}; postMessage("done"); }`;
    const worker = new Worker(URL.createObjectURL(new Blob([source])));
    worker.postMessage(shots, []);
    await settled(worker, "message", "error");
    worker.terminate();
    return "";
  });

const SEND_ALL = `await Promise.all(data.map(({ method, url, query, text }) => method === "POST"
  ? fetch(url, { method, mode: "no-cors", body: text }).catch(() => {})
  : fetch(url + "?" + query, { mode: "no-cors" }).catch(() => {})))`;

async function serviceWorker(shots) {
  if (navigator.serviceWorker === undefined || location.origin === "null") return [];
  const registration = await navigator.serviceWorker.register("/worker.js").catch(() => null);
  if (registration === null) return [];
  await navigator.serviceWorker.ready;
  registration.active.postMessage(shots, []);
  await settled(navigator.serviceWorker, "message");
  await registration.unregister();
  return [];
}

const listen = (open) => (shots) =>
  all(gets(shots), async (url) => {
    const source = open(url);
    let heard = "";
    source.addEventListener("message", ({ data }) => (heard += data));
    await settled(source, "open", "error");
    source.close();
    return heard;
  });

/** By way of the attacker's own server, which sends the browser on. */
const away = (home, status) => (url) =>
  `${home}/away?status=${status}&to=${encodeURIComponent(url)}`;
const redirected = (shots, home) =>
  shots.map(({ url, query }) => {
    const [there, to] = away(home, 302)(`${url}?${query}`).split("?");
    return { url: there, query: to };
  });

const NO_CORS = { mode: "no-cors", credentials: "include" };
const JSON_TYPE = { "content-type": "application/json" };
const TEXT_TYPE = { "content-type": "text/plain" };

globalThis.attacks = {
  img: element("img", "src"),
  script: element("script", "src"),
  "script type=module": element("script", "src", { type: "module" }),
  "link rel=stylesheet": element("link", "href", { rel: "stylesheet" }),
  "link rel=preload": element("link", "href", { rel: "preload", as: "image" }),
  "link rel=prefetch": element("link", "href", { rel: "prefetch" }),
  iframe: (shots) => element("iframe", "src")(few(shots)),
  object: (shots) => element("object", "data")(few(shots)),
  embed: (shots) => element("embed", "src")(few(shots)),
  video: element("video", "src"),
  audio: element("audio", "src"),
  "input type=image": element("input", "src", { type: "image" }),
  "CSS url()": style((url, index) => `#p${index} { background: url("${url}") }`),
  "CSS @import": style((url) => `@import "${url}";`),
  "CSS font": style(
    (url, index) => `@font-face { font-family: f${index}; src: url("${url}") }
    #p${index} { font-family: f${index} }`,
  ),
  EventSource: listen((url) => new EventSource(url)),
  WebSocket: listen((url) => new WebSocket(url.replace("http", "ws"))),
  "prefetch rule": speculate("prefetch"),
  "prerender rule": speculate("prerender"),
  "a ping": async (shots) => {
    for (const { url } of posts(shots)) {
      const link = make("a", { href: "#there", ping: url });
      link.click();
    }
    return [];
  },
  "form GET": (shots) => all(few(shots), ({ url, fields }) => submit(url, "get", "", fields)),
  "form POST urlencoded": form("application/x-www-form-urlencoded"),
  "form POST multipart": form("multipart/form-data"),
  "form POST text/plain": form("text/plain"),
  "form POST text/plain with JSON in it": form("text/plain", jsonInText),
  "form POST with an unknown enctype": form("application/json", jsonInText),
  "form POST in a new window": (shots) =>
    openWindows(posts(shots).slice(0, 6), ({ url, fields }) => {
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
  "fetch POST no-cors without a type": (shots) =>
    all(posts(shots), async (shot) =>
      textOf(await fetch(shot.url, { ...NO_CORS, method: "POST", body: blob("")(shot) })),
    ),
  "fetch POST no-cors form": (shots) =>
    all(posts(shots), async (shot) =>
      textOf(await fetch(shot.url, { ...NO_CORS, method: "POST", body: formData(shot) })),
    ),
  "fetch POST no-cors empty": fetchPost({ ...NO_CORS, body: null }),
  "fetch POST cors text": fetchPost({ headers: TEXT_TYPE }),
  "fetch POST cors JSON": fetchPost({ headers: JSON_TYPE }),
  "fetch POST same-origin JSON": fetchPost({ mode: "same-origin", headers: JSON_TYPE }),
  "fetch POST keepalive": fetchPost({ ...NO_CORS, headers: TEXT_TYPE, keepalive: true }),
  "XHR GET": (shots) => all(gets(shots), (url) => request("GET", url)),
  "XHR POST text": (shots) =>
    all(posts(shots), ({ url, text }) => request("POST", url, "text/plain", text)),
  "XHR POST JSON": (shots) =>
    all(posts(shots), ({ url, text }) => request("POST", url, "application/json", text)),
  "sendBeacon text": beacon(({ text }) => text),
  "sendBeacon form": beacon(formData),
  "sendBeacon JSON": beacon(blob("application/json")),
  worker: inWorker(SEND_ALL),
  "worker importScripts": inWorker(
    `for (const { url, query } of data) try { importScripts(url + "?" + query) } catch {}`,
  ),
  "service worker": serviceWorker,
  "window.open": (shots) => openWindows(gets(few(shots)), (url) => window.open(url)),
  "window.open noreferrer": (shots) =>
    openWindows(gets(few(shots)), (url) => window.open(url, "_blank", "noreferrer")),
  "location of a new window": (shots) =>
    openWindows(gets(few(shots)), (url) => {
      const opened = window.open("about:blank");
      if (opened !== null) opened.location = url;
      return opened;
    }),
  "meta refresh": (shots) =>
    all(gets(few(shots)), async (url) => {
      const refresh = `<meta http-equiv="refresh" content="0;url=${url.replaceAll("&", "&amp;")}">`;
      const frame = make("iframe", { srcdoc: refresh });
      await settled(frame, "load");
      await soon(PATIENCE);
      return "";
    }),
  "img redirected": (shots, home) => element("img", "src")(redirected(shots, home)),
  "iframe redirected": (shots, home) => element("iframe", "src")(redirected(few(shots), home)),
  "form POST redirected with 307": (shots, home) =>
    form("text/plain", jsonInText, away(home, 307))(shots),
  "fetch POST redirected with 307": (shots, home) =>
    fetchPost({ ...NO_CORS, headers: TEXT_TYPE }, away(home, 307))(shots),
};

globalThis.fire = async (way, shots, home, asked) => {
  pace = asked;
  const heard = await globalThis.attacks[way](shots, home);
  document.body.replaceChildren();
  return heard;
};
