"""The calls through a package that openapi-python-client generated from openapi.json."""

import datetime
import importlib
import json
import os
import pkgutil

import berth
from berth import Client, models
from berth.api.companions import get_license, unregister
from berth.api.contract import (
    add_airgap_license,
    add_consumption,
    add_feature_consumption,
    borrow,
    generate_license_request,
    register,
    set_keys,
)

client = Client(base_url=os.environ["BERTH_URL"], raise_on_unexpected_status=True)


def show(call, **value):
    print(json.dumps({"call": call, "value": value}))


def must(kind, reply):
    """The reply of a call that must succeed, of the type that the document promises."""
    if not isinstance(reply, kind):
        raise SystemExit(f"not a {kind.__name__}: {reply}")
    return reply


def rfc3339(time):
    return None if time is None else time.strftime("%Y-%m-%dT%H:%M:%SZ")


# Every module can be imported, also those of operations that are not called here.
for module in pkgutil.walk_packages(berth.__path__, "berth."):
    importlib.import_module(module.name)

slot = must(
    models.Slot,
    register.sync(
        client=client, body=models.RegisterBody(product="DEMO", user="ada", user_info="")
    ),
)
license_in_slot = models.License.from_dict(json.loads(slot.license_json))
show(
    "register",
    product=slot.product,
    user=slot.user,
    user_info=slot.user_info,
    license_id=slot.license_id,
    borrowed_until=rfc3339(slot.borrowed_until),
    is_borrowed=slot.is_borrowed,
    floating_users=slot.floating_users,
    lease=slot.lease,
    id_in_license_json=license_in_slot.id,
)

until = datetime.datetime.fromisoformat(os.environ["BORROWED_UNTIL"])
borrowed = must(
    models.BorrowedSlot,
    borrow.sync(
        client=client,
        body=models.BorrowBody(product="DEMO", user="grace", borrowed_until=until),
        idempotency_key="borrow-1",
        x_nonce="0123456789abcdef",
    ),
)
show(
    "borrow",
    license_id=borrowed.license_id,
    borrowed_until=rfc3339(borrowed.borrowed_until),
    is_borrowed=borrowed.is_borrowed,
    max_borrow_time=borrowed.max_borrow_time,
    has_lease=isinstance(borrowed.lease, str),
)

counted = must(
    models.Consumption,
    add_consumption.sync(
        client=client, body=models.AddConsumptionBody(product="DEMO", consumptions="3")
    ),
)
show(
    "addConsumption",
    license_id=counted.license_id,
    max_consumptions=counted.max_consumptions,
    total_consumptions=counted.total_consumptions,
    max_overages=counted.max_overages,
    consumption_period=counted.consumption_period,
)

feature_counted = must(
    models.FeatureConsumption,
    add_feature_consumption.sync(
        client=client,
        body=models.AddFeatureConsumptionBody(product="DEMO", feature="EXPORT", consumptions="2"),
    ),
)
show(
    "addFeatureConsumption",
    feature=feature_counted.feature,
    max_consumption=feature_counted.max_consumption,
    total_consumptions=feature_counted.total_consumptions,
)

asked = must(
    models.LicenseRequest,
    generate_license_request.sync(
        client=client,
        body=models.GenerateLicenseRequestBody(product="DEMO", license_key="ABCD-1234"),
    ),
)
show(
    "generateLicenseRequest",
    product=asked.product,
    license_key=asked.license_key,
    cloud_payload=asked.cloud_payload,
    parts_of_payload=len(asked.payload.split(".")),
)

keys = must(
    models.UpdatedKeys,
    set_keys.sync(client=client, api_key="an-api-key", shared_key="a-shared-key"),
)
show("setKeys", status=keys.status, updated=[key.value for key in keys.updated])

refused = must(
    models.Refusal,
    add_feature_consumption.sync(
        client=client, body=models.AddFeatureConsumptionBody(product="DEMO", feature="NONE")
    ),
)
show("refusal", status=refused.status, code=refused.code)

shown = must(
    models.License, get_license.sync(client=client, license_id=str(slot.license_id))
)
show("getLicense", id=shown.id, max_borrow_time=shown.max_borrow_time)

with open(os.environ["BERTH_AIRGAP_FILE"], encoding="utf-8") as file:
    airgap = models.AddAirgapLicenseBody.from_dict(json.load(file))
added = must(models.License, add_airgap_license.sync(client=client, body=airgap))
show(
    "addAirgapLicense",
    is_air_gapped=added.is_air_gapped,
    short_code=added.product_details.short_code,
    validity_period=rfc3339(added.validity_period),
    feature_types=[feature.feature_type.value for feature in added.product_features],
)

text = unregister.sync(
    client=client, body=models.UnregisterBody(product="DEMO", user="ada")
)
show("unregister", text=text.value)
