"""Checks licenses with the example of the guide. Reads a JSON list, prints which are accepted."""

import json
import sys

from check_license import check_license


def is_accepted(fields):
    try:
        check_license(fields["license"], fields["root_key"], fields["retired"])
    except Exception:
        return False
    return True


print(json.dumps([is_accepted(fields) for fields in json.load(sys.stdin)]))
