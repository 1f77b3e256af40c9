// How a host connects to the servers of its pair's database, and when it gives up.
import { beforeAll, describe, expect, onTestFinished, test } from "bun:test";
import { readdirSync, readlinkSync } from "node:fs";
import { readDatabaseReport } from "../../src/store/log/postgres/database-report.ts";
import {
  LogConnection,
  type LogConnectionOptions,
} from "../../src/store/log/postgres/log-connection.ts";
import { LogUnavailable } from "../../src/store/log/shared-log.ts";
import { atEnd } from "../support/suite-harness.ts";
import { waitUntil } from "../support/wait-until.ts";
import { PostgresCluster } from "./postgres-cluster.ts";
import { makeCertificates } from "./test-certificates.ts";
import { createDatabase, logUrlOf, PATIENT, runSql } from "./test-databases.ts";

const cluster = PostgresCluster.start();
atEnd(() => cluster.remove());

const connectTo = (text: string, changes: Partial<LogConnectionOptions> = {}): LogConnection => {
  const connection = new LogConnection({ ...PATIENT, url: logUrlOf(text), ...changes });
  onTestFinished(() => connection.close());
  return connection;
};

const urlOfPorts = (...ports: readonly number[]): string =>
  `postgres://berth@${ports.map((port) => `127.0.0.1:${port}`).join(",")}/postgres`;

const portOf = async (connection: LogConnection): Promise<unknown> =>
  (await connection.runStatement("SELECT inet_server_port() AS port"))[0]?.["port"];

const problemOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "no problem",
    (error: unknown) => {
      expect(error).toBeInstanceOf(LogUnavailable);
      return (error as Error).message;
    },
  );

const processOf = async (connection: LogConnection): Promise<number> =>
  Number((await connection.runStatement("SELECT pg_backend_pid() AS pid"))[0]?.["pid"]);

/** Stops a process until the end of the test. */
const suspend = (pid: number): void => {
  process.kill(pid, "SIGSTOP");
  onTestFinished(() => void process.kill(pid, "SIGCONT"));
};

describe("a session of the log", () => {
  test("has the settings of the log on the server, whatever its defaults are", async () => {
    const connection = connectTo(cluster.url);
    const read = async (name: string): Promise<unknown> =>
      (await connection.runStatement(`SELECT current_setting('${name}') AS value`))[0]?.["value"];
    expect(await read("synchronous_commit")).toBe("on");
    expect(await read("default_transaction_isolation")).toBe("read committed");
    expect(await read("idle_in_transaction_session_timeout")).toBe("5s");
    // These are read from the socket of the server.
    expect(await read("tcp_user_timeout")).toBe("5000");
    expect(await read("tcp_keepalives_idle")).toBe("2");
    expect(await read("tcp_keepalives_interval")).toBe("1");
    expect(await read("tcp_keepalives_count")).toBe("3");
  });

  test("is refused if its settings do not reach the server", async () => {
    const proxy = startRewritingProxy("synchronous_commit\0on", "synchronous_commit\0no");
    const problem = await problemOf(connectTo(urlOfPorts(proxy)).runStatement("SELECT 1"));
    expect(problem).toContain("synchronous_commit = off, and needs on");
  });

  test("loses its locks after 5 seconds in a transaction without a statement", async () => {
    const { url, name } = await createDatabase(cluster);
    await runSql(cluster, "CREATE TABLE public.t (n int); INSERT INTO public.t VALUES (0)", name);
    const holder = connectTo(url.text);
    await holder.runScript("BEGIN; UPDATE public.t SET n = 1");
    const startedAt = performance.now();
    await connectTo(url.text).runStatement("UPDATE public.t SET n = 2");
    expect(performance.now() - startedAt).toBeWithin(3_000, 20_000);
  });
});

describe("a statement without an answer", () => {
  const deadlineMs = 400;

  test("is given up after its deadline if its process on the server is stopped", async () => {
    const connection = connectTo(cluster.url, { deadlineMs });
    // Connecting may take longer on a busy machine.
    await waitUntil(() => connection.runStatement("SELECT 1").then(Boolean, () => false));
    const pid = await processOf(connection);
    suspend(pid);
    const startedAt = performance.now();
    const problem = await problemOf(connection.runStatement("SELECT 1"));
    expect(problem).toBe("no answer within 400 ms");
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(deadlineMs - 1);
    await waitUntil(() => connection.runStatement("SELECT 1").then(Boolean, () => false));
    expect(await processOf(connection)).not.toBe(pid);
  });

  test("leaves no socket open if the whole server is stopped", async () => {
    const connection = connectTo(cluster.url, { deadlineMs: 50 });
    suspend(cluster.processId);
    const before = countSockets();
    for (let attempt = 0; attempt < 10; attempt += 1) {
      expect(await problemOf(connection.runStatement("SELECT 1"))).toBe("no answer within 50 ms");
    }
    await waitUntil(() => countSockets() <= before);
  });

  test("does not harm a statement of a newer connection", async () => {
    const connection = connectTo(cluster.url);
    const pid = await processOf(connection);
    const lost = problemOf(connection.runStatement("SELECT pg_sleep(60)"));
    const alsoLost = problemOf(connection.runStatement("SELECT pg_sleep(60)"));
    await runSql(cluster, `SELECT pg_terminate_backend(${pid})`);
    expect(await lost).not.toBe("no problem");
    expect(await connection.runStatement("SELECT 1 AS one")).toEqual([{ one: 1 }]);
    expect(await alsoLost).not.toBe("no problem");
    const next = await processOf(connection);
    expect(await processOf(connection)).toBe(next);
  });

  test("does not happen after the server was restarted between two statements", async () => {
    const connection = connectTo(cluster.url);
    const pid = await processOf(connection);
    cluster.stopServer("fast");
    cluster.startServer();
    // The end of the connection is noticed by then.
    await Bun.sleep(50);
    expect(await processOf(connection)).not.toBe(pid);
  });
});

describe("of several servers", () => {
  test("the one that answers is used if the others are away", async () => {
    expect(await portOf(connectTo(urlOfPorts(1, cluster.port, 2)))).toBe(cluster.port);
  });

  test("each one is named if none can be used", async () => {
    const problem = await problemOf(connectTo(urlOfPorts(1, 2)).runStatement("SELECT 1"));
    expect(problem).toContain("127.0.0.1:1: ");
    expect(problem).toContain("; 127.0.0.1:2: ");
  });

  test("the primary server is used, also after a standby took its place", async () => {
    const primary = PostgresCluster.start();
    onTestFinished(() => primary.remove());
    const standby = primary.startStandby("standby");
    onTestFinished(() => standby.remove());
    const url = urlOfPorts(standby.port, primary.port);
    const connection = connectTo(url);
    expect(await portOf(connection)).toBe(primary.port);
    expect(await problemOf(connectTo(urlOfPorts(standby.port)).runStatement("SELECT 1"))).toContain(
      "the server is a standby",
    );
    primary.stopServer("immediate");
    standby.promote();
    await waitUntil(() =>
      portOf(connection).then(
        (port) => port === standby.port,
        () => false,
      ),
    );
    // The old one is started again, and would accept changes.
    primary.startServer();
    for (const ports of [
      [standby.port, primary.port],
      [primary.port, standby.port],
    ]) {
      expect(await portOf(connectTo(urlOfPorts(...ports)))).toBe(standby.port);
    }
  });
});

describe("TLS", () => {
  const names = makeCertificates("DNS:localhost");
  const others = makeCertificates("DNS:localhost,IP:127.0.0.1");
  const server = PostgresCluster.start({ listen_addresses: "127.0.0.1,127.0.0.2" });
  atEnd(() => server.remove());
  const urlWith = (options: string, host = "127.0.0.1"): string =>
    `postgres://berth@${host}:${server.port}/postgres?${options}`;

  const isEncrypted = async (options: string, host?: string): Promise<unknown> => {
    const connection = connectTo(urlWith(options, host));
    const statement = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    return (await connection.runStatement(statement))[0]?.["ssl"];
  };

  const offer = async (certificates: typeof names): Promise<void> => {
    server.offerTls(certificates.certificate, certificates.key);
    const accepts = (): Promise<unknown> =>
      isEncrypted(`sslmode=verify-full&sslrootcert=${certificates.authority}`, "localhost");
    await waitUntil(() => accepts().then(Boolean, () => false));
  };

  describe("that the server does not offer", () => {
    test("is not used with sslmode=prefer, and the connection is refused otherwise", async () => {
      expect(await isEncrypted("sslmode=prefer")).toBe(false);
      for (const mode of ["require", "verify-full"]) {
        const problem = problemOf(isEncrypted(`sslmode=${mode}`));
        expect(await problem).toContain("the server does not offer TLS");
      }
    });
  });

  describe("that the server offers", () => {
    beforeAll(() => offer(names));

    test("is used, unless it is disabled", async () => {
      for (const mode of ["prefer", "require"])
        expect(await isEncrypted(`sslmode=${mode}`)).toBe(true);
      expect(await isEncrypted("sslmode=disable")).toBe(false);
    });

    test("is reported as missing if the database is on another machine", async () => {
      const problemsOf = async (mode: string, host: string): Promise<readonly string[]> =>
        (await readDatabaseReport(connectTo(urlWith(`sslmode=${mode}`, host)))).problems;
      // To the server, this address is not that of the client.
      const other = "127.0.0.2";
      expect(await problemsOf("disable", other)).toEqual(["not_replicated", "unencrypted"]);
      expect(await problemsOf("require", other)).toEqual(["not_replicated"]);
      expect(await problemsOf("disable", "127.0.0.1")).toEqual(["not_replicated"]);
    });

    test("is verified with sslmode=verify-full", async () => {
      const verify = (authority: string, host: string): Promise<unknown> =>
        isEncrypted(`sslmode=verify-full&sslrootcert=${authority}`, host);
      expect(await verify(names.authority, "localhost")).toBe(true);
      for (const wrong of [
        () => verify(others.authority, "localhost"),
        () => verify(names.authority, "127.0.0.1"),
        () => isEncrypted("sslmode=verify-full", "localhost"),
      ]) {
        expect(await problemOf(wrong())).toContain("the certificate of the server is not accepted");
      }
      expect(await problemOf(verify("/missing/ca.crt", "localhost"))).toContain("/missing/ca.crt");
    });

    test("is verified by an address that the certificate names", async () => {
      await offer(others);
      const options = `sslmode=verify-full&sslrootcert=${others.authority}`;
      expect(await isEncrypted(options, "127.0.0.1")).toBe(true);
    });
  });
});

/** The open sockets of this process. */
function countSockets(): number {
  const isSocket = (fd: string): boolean => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith("socket:");
    } catch {
      return false;
    }
  };
  return readdirSync("/proc/self/fd").filter(isSocket).length;
}

/** Forwards to the server, and replaces a text of the same length; returns its port. */
function startRewritingProxy(from: string, to: string): number {
  const listener = Bun.listen<{ server: Promise<Bun.Socket> }>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(client) {
        const server = Bun.connect({
          hostname: "127.0.0.1",
          port: cluster.port,
          socket: {
            data: (_server, bytes) => void client.write(bytes),
            close: () => void client.end(),
          },
        });
        client.data = { server };
      },
      async data(client, bytes) {
        const text = Buffer.from(bytes).toString("latin1").replace(from, to);
        (await client.data.server).write(Buffer.from(text, "latin1"));
      },
      close: async (client) => void (await client.data.server).end(),
    },
  });
  onTestFinished(() => listener.stop(true));
  return listener.port;
}
