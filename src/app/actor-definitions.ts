import { accountActor } from '#actors/account/account'
import { actionActor, actionPageActor } from '#actors/action/action'
import { deliveryActor } from '#actors/delivery/delivery'
import { type DeviceOptions, deviceActor } from '#actors/device/device'
import { deviceTokenActor } from '#actors/device-token/device-token'
import { directoryActor } from '#actors/directory/directory'
import { idempotencyActor } from '#actors/idempotency/idempotency'
import { mqttSessionActor } from '#actors/mqtt-session/mqtt-session'
import type { NoticeBus } from '#actors/notice-bus'
import { outboxActor } from '#actors/outbox/outbox'
import { projectActor } from '#actors/project/project'
import { sessionActor } from '#actors/session/session'
import { signingKeysActor } from '#actors/signing-keys/signing-keys'
import { subscriberActor } from '#actors/subscriber/subscriber'
import { tenantActor } from '#actors/tenant/tenant'
import { updateActor } from '#actors/update/update'
import { updateScheduleActor } from '#actors/update-schedule/schedule'
import type { Entry } from '#model/entry'
import type { AnyDefinition } from '#runtime/activation'

export interface ActorOptions {
  readonly device: DeviceOptions
  readonly notices: NoticeBus
  readonly storedRequestsMax: number
  readonly offerTimeoutMs: number
}

/** All kinds of actors. */
export function actorDefinitions({ device, notices, storedRequestsMax, offerTimeoutMs }: ActorOptions) {
  return [
    deviceActor(device),
    deviceTokenActor,
    tenantActor(notices),
    subscriberActor(notices),
    deliveryActor({ notices, storedRequestsMax }),
    outboxActor,
    directoryActor(notices),
    accountActor,
    sessionActor(notices),
    signingKeysActor(notices),
    idempotencyActor,
    mqttSessionActor,
    actionActor,
    actionPageActor,
    updateActor({ notices, offerTimeoutMs }),
    projectActor(notices),
    updateScheduleActor,
  ] as unknown as AnyDefinition<Entry>[]
}
