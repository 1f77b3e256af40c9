// The calls through a package that oapi-codegen generated from the whole of openapi.json.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"example.com/calls/berth"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// The reply of a call that must succeed.
func replyOf[T any](reply *T, body []byte) T {
	if reply == nil {
		panic("refused: " + string(body))
	}
	return *reply
}

type fields map[string]any

func show(call string, value fields) {
	fmt.Println(string(must(json.Marshal(fields{"call": call, "value": value}))))
}

func rfc3339(at *time.Time) any {
	if at == nil {
		return nil
	}
	return at.UTC().Format(time.RFC3339)
}

func text(value string) *string { return &value }

func main() {
	ctx := context.Background()
	client := must(berth.NewClientWithResponses(os.Getenv("BERTH_URL")))

	registered := must(client.RegisterWithResponse(ctx, nil, berth.RegisterBody{
		Product: text("DEMO"), User: text("ada"), UserInfo: text(""),
	}))
	slot := replyOf(registered.JSON200, registered.Body)
	var license berth.License
	if err := json.Unmarshal([]byte(slot.LicenseJson), &license); err != nil {
		panic(err)
	}
	show("register", fields{
		"product": slot.Product, "user": slot.User, "user_info": slot.UserInfo,
		"license_id": slot.LicenseId, "borrowed_until": rfc3339(slot.BorrowedUntil),
		"is_borrowed": slot.IsBorrowed, "floating_users": slot.FloatingUsers,
		"lease": slot.Lease, "id_in_license_json": license.Id,
	})

	until := must(time.Parse(time.RFC3339, os.Getenv("BORROWED_UNTIL")))
	lent := must(client.BorrowWithResponse(ctx, &berth.BorrowParams{
		IdempotencyKey: text("borrow-1"), XNonce: text("0123456789abcdef"),
	}, berth.BorrowBody{Product: text("DEMO"), User: text("grace"), BorrowedUntil: &until}))
	borrowed := replyOf(lent.JSON200, lent.Body)
	show("borrow", fields{
		"license_id": borrowed.LicenseId, "borrowed_until": rfc3339(borrowed.BorrowedUntil),
		"is_borrowed": borrowed.IsBorrowed, "max_borrow_time": borrowed.MaxBorrowTime,
		"has_lease": borrowed.Lease != nil,
	})

	consumed := must(client.AddConsumptionWithResponse(ctx, nil, berth.AddConsumptionBody{
		Product: text("DEMO"), Consumptions: text("3"),
	}))
	counted := replyOf(consumed.JSON200, consumed.Body)
	show("addConsumption", fields{
		"license_id": counted.LicenseId, "max_consumptions": counted.MaxConsumptions,
		"total_consumptions": counted.TotalConsumptions, "max_overages": counted.MaxOverages,
		"consumption_period": counted.ConsumptionPeriod,
	})

	used := must(client.AddFeatureConsumptionWithResponse(ctx, nil, berth.AddFeatureConsumptionBody{
		Product: text("DEMO"), Feature: text("EXPORT"), Consumptions: text("2"),
	}))
	feature := replyOf(used.JSON200, used.Body)
	show("addFeatureConsumption", fields{
		"feature": feature.Feature, "max_consumption": feature.MaxConsumption,
		"total_consumptions": feature.TotalConsumptions,
	})

	generated := must(client.GenerateLicenseRequestWithResponse(ctx, berth.GenerateLicenseRequestBody{
		Product: text("DEMO"), LicenseKey: text("ABCD-1234"),
	}))
	asked := replyOf(generated.JSON200, generated.Body)
	show("generateLicenseRequest", fields{
		"product": asked.Product, "license_key": asked.LicenseKey,
		"cloud_payload":    asked.CloudPayload,
		"parts_of_payload": len(strings.Split(asked.Payload, ".")),
	})

	set := must(client.SetKeysWithResponse(ctx, &berth.SetKeysParams{
		ApiKey: text("an-api-key"), SharedKey: text("a-shared-key"),
	}))
	keys := replyOf(set.JSON200, set.Body)
	show("setKeys", fields{"status": keys.Status, "updated": keys.Updated})

	denied := must(client.AddFeatureConsumptionWithResponse(ctx, nil, berth.AddFeatureConsumptionBody{
		Product: text("DEMO"), Feature: text("NONE"),
	}))
	refused := replyOf(denied.JSON400, denied.Body)
	show("refusal", fields{"status": refused.Status, "code": refused.Code})

	id := strconv.FormatInt(slot.LicenseId, 10)
	found := must(client.GetLicenseWithResponse(ctx, &berth.GetLicenseParams{LicenseId: &id}))
	shown := must(replyOf(found.JSON200, found.Body).AsLicense())
	show("getLicense", fields{"id": shown.Id, "max_borrow_time": shown.MaxBorrowTime})

	var airgap berth.AddAirgapLicenseBody
	file := must(os.ReadFile(os.Getenv("BERTH_AIRGAP_FILE")))
	if err := json.Unmarshal(file, &airgap); err != nil {
		panic(err)
	}
	installed := must(client.AddAirgapLicenseWithResponse(ctx, airgap))
	added := replyOf(installed.JSON200, installed.Body)
	types := []berth.FeatureFeatureType{}
	for _, one := range added.ProductFeatures {
		types = append(types, one.FeatureType)
	}
	show("addAirgapLicense", fields{
		"is_air_gapped": added.IsAirGapped, "short_code": added.ProductDetails.ShortCode,
		"validity_period": rfc3339(added.ValidityPeriod), "feature_types": types,
	})

	freed := must(client.UnregisterWithResponse(ctx, berth.UnregisterBody{
		Product: text("DEMO"), User: text("ada"),
	}))
	show("unregister", fields{"text": string(freed.Body)})
}
