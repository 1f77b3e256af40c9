import { describe, expect, test } from "bun:test";
import { parseOptions } from "./options.ts";
import { peerHeartbeatOf } from "./peer-heartbeat.ts";

const PEER = ["--peer", "relay=http://127.0.0.1:6349/v1/nodes/{user}?seat={index}"];

describe("the options of the benchmark", () => {
  test("choose all parts but the comparison with another executable", () => {
    expect(parseOptions([]).parts).toEqual([
      "start",
      "speed",
      "growth",
      "metrics",
      "waiting",
      "queue",
      "rules",
      "tables",
      "checkpoints",
      "stalls",
      "slow-disks",
      "pair",
      "desk",
    ]);
  });

  test("add the comparison with another executable to the chosen parts", () => {
    const { parts, against } = parseOptions(["--part", "speed", "--against", "old/berth"]);
    expect(parts).toEqual(["speed", "against"]);
    expect(against).toEqual({ file: "old/berth", site: null });
  });

  test("choose the heavy calls whose names contain one of the texts", () => {
    const { only } = parseOptions(["--part", "stalls", "--only", "GET", "--only", "queue"]);
    expect(only).toEqual(["GET", "queue"]);
  });

  test("give each peer the options that follow it", () => {
    const put = ["--peer-method", "PUT", "--peer-body", "", "--peer-header", "X-Key: 1"];
    const other = ["--peer", "other=http://[::1]", "--peer-header", "X-Key: 2"];
    const { peers } = parseOptions([...PEER, ...put, "--quick", ...other]);
    expect(peers).toEqual([
      {
        name: "relay",
        url: "http://127.0.0.1:6349",
        request: {
          method: "PUT",
          target: "/v1/nodes/{user}?seat={index}",
          headers: ["X-Key: 1"],
          body: "",
        },
      },
      {
        name: "other",
        url: "http://[::1]",
        request: { method: "POST", target: "/", headers: ["X-Key: 2"], body: null },
      },
    ]);
  });

  test.each([
    [["--rounds", "0"], "--rounds must be 1 to 99: 0"],
    [["--part", "disks"], "unknown part: disks"],
    [["--part", "against"], "the part against needs --against FILE"],
    [["--against-site", "old/data"], "--against-site needs --against FILE"],
    [["--part", "start", ...PEER], "--peer needs the part speed"],
    [["--part", "start", "--only", "GET"], "--only needs the part stalls"],
    [["--peer-method", "PUT", ...PEER], "--peer-method needs a --peer before it"],
    [["--peer-body", "x"], "--peer-body needs a --peer before it"],
    [["--peer-header", "a: b"], "--peer-header needs a --peer before it"],
    [[...PEER, ...PEER], "there are two servers named relay"],
    [["--peer", "sqlite=http://127.0.0.1/"], "there are two servers named sqlite"],
    [["--peer", "http://127.0.0.1/"], "--peer must be NAME=URL"],
    [["--peer", "x=127.0.0.1:80"], "the URL of peer x must begin with http://"],
    [["--peer", "x=https://127.0.0.1/"], "the URL of peer x must begin with http://"],
    [["--peer", "x=http://127.0.0.1/a b"], "the URL of peer x must begin with http://"],
    [["--peer", "x=http://127.0.0.1/a#b"], "the URL of peer x must begin with http://"],
    [["--peer", "x=http://10.0.0.5/"], "the address of peer x must be 127.0.0.1 or [::1]"],
    [["--peer", "x=http://localhost/"], "the address of peer x must be 127.0.0.1 or [::1]"],
    [["--peer", "x=http://127.0.0.1.example.com/"], "the address of peer x must be 127.0.0.1"],
    [["--peer", "x=http://127.0.0.1@10.0.0.5/"], "the address of peer x must be 127.0.0.1"],
    [["--peer", "x=http://[::2]/"], "the address of peer x must be 127.0.0.1 or [::1]"],
    [[...PEER, "--peer-method", "HEAD"], "--peer-method must be a method"],
    [[...PEER, "--peer-method", "PUT /"], "--peer-method must be a method"],
    [[...PEER, "--peer-header", "X-Key"], '--peer-header must be "NAME: VALUE"'],
    [[...PEER, "--peer-header", "a: b\r\nc: d"], '--peer-header must be "NAME: VALUE"'],
    [[...PEER, "--peer-header", "Content-Length: 5"], '--peer-header must be "NAME: VALUE"'],
  ])("refuse %j", (args, message) => {
    expect(() => parseOptions(args)).toThrow(message);
  });
});

describe("the heartbeat of a peer", () => {
  const heartbeat = (...args: readonly string[]): string[] => {
    const [peer] = parseOptions([...PEER, ...args]).peers;
    if (peer === undefined) throw new Error("no peer");
    return peerHeartbeatOf(peer.url, peer.request, 7).toString().split("\r\n");
  };

  test("has the user in path, query, headers and body", () => {
    expect(
      heartbeat("--peer-header", "X-Host: {hostname}", "--peer-body", "{user} {index} {other}"),
    ).toEqual([
      "POST /v1/nodes/user-7%40initrode.example?seat=7 HTTP/1.1",
      "Host: 127.0.0.1:6349",
      "X-Host: workstation-7.engineering",
      "Content-Type: application/json",
      "Content-Length: 33",
      "",
      "user-7@initrode.example 7 {other}",
    ]);
  });

  test("is the heartbeat of Berth without --peer-body", () => {
    expect(JSON.parse(heartbeat().at(-1) ?? "")).toEqual({
      product: "cad",
      user: "user-7@initrode.example",
      os_hostname: "workstation-7.engineering",
      ip_local: "10.0.0.7",
      user_info: "",
    });
  });

  test("has no body and no type with an empty --peer-body", () => {
    expect(heartbeat("--peer-method", "PUT", "--peer-body", "").slice(1)).toEqual([
      "Host: 127.0.0.1:6349",
      "Content-Length: 0",
      "",
      "",
    ]);
  });

  test("has no body with GET", () => {
    expect(heartbeat("--peer-method", "GET").slice(1)).toEqual(["Host: 127.0.0.1:6349", "", ""]);
  });

  test("has the type and the host that the options name", () => {
    const lines = heartbeat("--peer-header", "content-type: text/x", "--peer-header", "Host: a");
    expect(lines.filter((line) => /^(?:host|content-type):/i.test(line))).toEqual([
      "content-type: text/x",
      "Host: a",
    ]);
  });
});
