/**
 * What an application does from its start to its end. The README has the same rows, and
 * test/http/client-lifecycle.test.ts follows them.
 */
export const clientLifecycle: readonly (readonly [situation: string, action: string])[] = [
  [
    "Start",
    "`register`. Keep `registered_at`, `expires_at` and `floating_timeout` (minutes) of the answer.",
  ],
  [
    "Choosing `user`",
    "A slot belongs to a name. For one slot per machine, send `ada@ws-17` instead of `ada`.",
  ],
  [
    "`ada` on two machines",
    "Both share one slot. The first that calls `unregister` gives it back for both.",
  ],
  [
    "While it runs",
    "`register` again (the heartbeat) at a third of `floating_timeout`: every 5 of 15 minutes.",
  ],
  [
    "The server is unreachable",
    "Go on until `expires_at`. Retry every 10 to 30 s, at random. At `expires_at`, stop.",
  ],
  [
    "5xx or 429",
    "Retry after `Retry-After`, or after 1, 2, 4, … 60 s, with the same `Idempotency-Key`.",
  ],
  [
    "`floating_not_available` on a heartbeat",
    "The slot was lost and all are taken. Tell the user, let the work be saved, and try again.",
  ],
  [
    "Any other 4xx on a heartbeat",
    "Repeating it does not help. Show `message` to the user; `code` says what to do.",
  ],
  [
    "`registered_at` changed",
    "There was a gap: the slot was lost and taken again. Others may have used it meanwhile.",
  ],
  [
    "After sleep",
    "`register` at once, then compare `registered_at`. The same value: the slot was never lost.",
  ],
  ["End", "`unregister`. If that fails, or says `user_not_registered`, nothing needs to be done."],
  ["Clocks", "Times are the server’s. Allow 60 s of leeway, also when checking a lease."],
  ["`add_consumption` with `{}`", "Counts 1."],
  [
    "An empty body; no `Content-Type`",
    "400 `invalid_json`; 415 `unsupported_media_type`. Send at least `{}` as `application/json`.",
  ],
  [
    "The vendor’s key",
    "`keys[0]` in the payload of `trust.jwt`. The demo’s: `demo/vendor/trust.jwt` in its data folder.",
  ],
  [
    "After `berth vendor successor`",
    "All `keys` of the newest `successor-N.jwt`, newest first. Accept a license of any of them.",
  ],
  [
    "Checking with PyJWT",
    "Pass `leeway=60`: it refuses an `iat` in the future. Compare `typ` of the header yourself.",
  ],
];
