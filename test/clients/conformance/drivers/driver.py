"""Drives the Python client by JSON lines on standard input, for the conformance suite."""

import gc
import json
import os
import pathlib
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, Optional, cast

SOURCES = pathlib.Path(__file__).resolve().parents[4] / "src" / "clients"
sys.path.insert(0, os.environ.get("BERTH_CLIENT_SOURCES", str(SOURCES)))

import berth  # noqa: E402

Fields = Dict[str, Any]
clients: Dict[str, berth.Client] = {}
slots: Dict[str, berth.Slot] = {}
features: Dict[str, berth.Feature] = {}
output = threading.Lock()


def write(message: Fields) -> None:
    line = json.dumps(message) + "\n"
    with output:
        sys.stdout.write(line)
        sys.stdout.flush()


def describe_error(error: berth.BerthError) -> Fields:
    return {
        "kind": re.sub("Error$", "", type(error).__name__),
        "code": error.code,
        "status": error.status,
        "message": error.message,
        "request_id": error.request_id,
        "key": error.key,
        "position": getattr(error, "position", None),
    }


def describe_slot(slot: berth.Slot) -> Fields:
    names = ("user", "license_id", "registered_at", "expires_at", "is_held", "is_borrowed")
    return {name: getattr(slot, name) for name in names}


def describe_feature(feature: berth.Feature) -> Fields:
    return {"code": feature.code, "is_held": feature.is_held}


def pick(fields: Fields, *names: str) -> Fields:
    return {name: fields[name] for name in names if fields.get(name) is not None}


def report_loss(name: str) -> Callable[[Any, berth.BerthError], None]:
    return lambda _, error: write({"event": "loss", "slot": name, **describe_error(error)})


def create_client(fields: Fields) -> Fields:
    names = ("ca", "certificate", "allow_plain_password", "timeout", "retry_for", "nonce")
    options = pick(fields, *names, "root_keys", "retired")
    if fields.get("login") is not None:
        options["login"] = (fields["login"]["name"], fields["login"]["password"])
    clients[fields["client"]] = berth.Client(fields["urls"], fields["product"], **options)
    return {}


def acquire(fields: Fields) -> Fields:
    name = fields["slot"]

    def report_wait(position: int, length: int) -> None:
        write({"event": "wait", "slot": name, "position": position, "length": length})

    slot = clients[fields["client"]].acquire(
        fields["user"],
        on_loss=report_loss(name),
        on_wait=report_wait,
        **pick(fields, "wait", "license_id", "user_info"),
    )
    slots[name] = slot
    return describe_slot(slot)


def acquire_feature(fields: Fields) -> Fields:
    name = fields["feature"]
    feature = slots[fields["slot"]].acquire_feature(fields["code"], report_loss(name))
    features[name] = feature
    return describe_feature(feature)


def release(fields: Fields) -> Fields:
    if fields.get("feature") is not None:
        return {"confirmed": features[fields["feature"]].release()}
    return {"confirmed": slots[fields["slot"]].release()}


def release_user(fields: Fields) -> Fields:
    clients[fields["client"]].release(fields["user"])
    return {}


def borrow(fields: Fields) -> Fields:
    client, options = clients[fields["client"]], pick(fields, "license_id", "key")
    return dict(vars(client.borrow(fields["user"], cast(str, fields.get("until")), **options)))


def consume(fields: Fields) -> Fields:
    names = ("n", "feature", "user", "key", "license_id", "max_overages", "allow_overages")
    return dict(vars(clients[fields["client"]].consume(**pick(fields, *names))))


def consume_many(fields: Fields) -> Fields:
    client = clients[fields["client"]]

    def count_one(_: int) -> bool:
        try:
            client.consume(1)
        except berth.BerthError:
            return False
        return True

    with ThreadPoolExecutor(fields["concurrency"]) as pool:
        outcomes = list(pool.map(count_one, range(fields["count"])))
    return {"done": outcomes.count(True), "failed": outcomes.count(False)}


def verify(fields: Fields) -> Fields:
    return dict(vars(clients[fields["client"]].verify(fields["lease"], fields["license"])))


def drop(fields: Fields) -> Fields:
    del slots[fields["slot"]]
    gc.collect()
    return {}


def fork(fields: Fields) -> Fields:
    client, slot = clients[fields["client"]], slots[fields["slot"]]
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code: Optional[str] = None
        try:
            client.acquire("child-of-fork")
        except berth.BerthError as error:
            code = error.code
        seen = {"is_held": slot.is_held, "acquire_code": code}
        seen["release_confirmed"] = slot.release()
        client.close()
        os.write(writer, json.dumps(seen).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        outcome: Fields = json.loads(file.read())
    os.waitpid(child, 0)
    return outcome


def close(fields: Fields) -> Fields:
    clients[fields["client"]].close()
    return {}


OPERATIONS: Dict[str, Callable[[Fields], Fields]] = {
    "client": create_client,
    "acquire": acquire,
    "slot": lambda fields: describe_slot(slots[fields["slot"]]),
    "license": lambda fields: {"license": slots[fields["slot"]].license},
    "acquire_feature": acquire_feature,
    "feature": lambda fields: describe_feature(features[fields["feature"]]),
    "release": release,
    "release_user": release_user,
    "borrow": borrow,
    "consume": consume,
    "consume_many": consume_many,
    "verify": verify,
    "nonce": lambda fields: {"nonce": clients[fields["client"]].nonce},
    "drop": drop,
    "fork": fork,
    "close": close,
}


def answer(fields: Fields) -> None:
    try:
        write({"id": fields["id"], "ok": OPERATIONS[fields["op"]](fields)})
    except berth.BerthError as error:
        write({"id": fields["id"], "error": describe_error(error)})
    except Exception as error:  # a fault of the driver or the client, which the suite must see
        shown = {"kind": type(error).__name__, "code": "exception", "message": repr(error)}
        write({"id": fields["id"], "error": shown})


def main() -> None:
    for line in sys.stdin:
        threading.Thread(target=answer, args=(json.loads(line),), daemon=True).start()


if __name__ == "__main__":
    main()
