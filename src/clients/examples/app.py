"""An application that needs a license: how a vendor integrates berth.py.

    python3 app.py SERVERS USER ROOT_KEY          hold a slot, use a feature, count
    python3 app.py SERVERS USER ROOT_KEY trip     borrow the slot, to work offline
    python3 app.py SERVERS USER ROOT_KEY back     return the borrowed slot

SERVERS are the URLs of the license server, separated by commas: two for a pair. ROOT_KEY is the
public root key of the vendor, 43 characters; `berth demo` prints it. A real application has it in
its sources.
"""

import datetime
import os
import sys

import berth

PRODUCT = "DEMO"
LEASE_FILE = "lease.jwt"
LICENSE_FILE = "license.jwt"


def read_trip(client):
    """The saved lease, if it still allows to work; it is checked without a server."""
    try:
        with open(LEASE_FILE) as lease, open(LICENSE_FILE) as license_file:
            return client.verify(lease.read(), license_file.read())
    except FileNotFoundError:
        return None
    except berth.LeaseRefusedError as error:
        print(f"the saved lease cannot be used: {error.message}")
        return None


def begin_trip(client, user):
    """The borrow outlives this process: what proves it is saved beside the application."""
    # A week. A real application asks the user.
    until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=7)
    borrow = client.borrow(user, until)
    with open(LEASE_FILE, "w") as lease, open(LICENSE_FILE, "w") as license_file:
        lease.write(borrow.lease)
        license_file.write(borrow.license)
    print(f"borrowed until {borrow.borrowed_until}")


def end_trip(client, user):
    client.release(user)
    for path in (LEASE_FILE, LICENSE_FILE):
        if os.path.exists(path):
            os.remove(path)
    print("returned")


def report_loss(slot, error):
    """Called on another thread. A real application lets the user save the work."""
    print(error.message, file=sys.stderr)


def work(client, user):
    """Heartbeats keep the slot in the background; the end of each `with` releases what it took."""
    print("waiting for a slot, for at most 60 seconds")
    show_place = lambda position, length: print(f"waiting: place {position} of {length}")
    with client.acquire(user, wait=60, on_wait=show_place, on_loss=report_loss) as slot:
        print(f"license {slot.license_id} until {slot.expires_at}")
        with slot.acquire_feature("RENDER"):
            print("rendering")
        pages = client.consume(3, user=user)
        print(f"{pages.total} of {pages.maximum} pages are counted")
        exports = client.consume(1, feature="EXPORT", user=user)
        print(f"{exports.total} of {exports.maximum} exports are counted")
        # Before each long step: a lost license is not used any more.
        return 0 if slot.is_held else 1


def main(servers, user, root_key, command="work"):
    try:
        with berth.Client(servers, PRODUCT, root_keys=[root_key]) as client:
            if command == "trip":
                begin_trip(client, user)
            elif command == "back":
                end_trip(client, user)
            elif (trip := read_trip(client)) is not None:
                print(f"offline as {trip.user} until {trip.expires_at}")
            else:
                return work(client, user)
    except berth.BerthError as error:
        reason = "no license is free: " if isinstance(error, berth.NoFreeSlotError) else ""
        print(f"{reason}{error.message}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        print("usage: app.py SERVERS USER ROOT_KEY [trip|back]", file=sys.stderr)
        sys.exit(2)
    sys.exit(main(*sys.argv[1:]))
